// How early an order can end at best.
#pragma once

#include "search/problem.h"

namespace weft {

// No order of the problem ends earlier. The largest over the ranks of: its work behind the first
// forward's arrival; its forwards and input gradients between that and the way of the last gradient
// to rank 0; what is left of its work when the first input gradient can arrive; and the time that
// its micro-batches, each in memory from its forward to its input gradient, need in the places that
// there are.
double lower_bound(const SearchProblem& problem);

}  // namespace weft
