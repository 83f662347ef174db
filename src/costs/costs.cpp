#include "costs/costs.h"
