#include "timeline/timeline.h"
