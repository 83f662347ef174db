#include "passes/pass_list.h"
