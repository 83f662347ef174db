#include "simulate/simulate.h"
