#include "overlap/hand_over.h"
