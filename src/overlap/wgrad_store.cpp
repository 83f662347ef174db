#include "overlap/wgrad_store.h"
