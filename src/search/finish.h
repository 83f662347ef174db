// Last touches that cost no time: what stands together becomes one cell.
#pragma once

#include "search/draft.h"
#include "search/problem.h"

namespace weft {

// Both try at most `tries` changes, rank by rank.

// Weaves forwards with backwards close by into pairs as long as the whole ends no later.
Draft weave_pairs(const SearchProblem& problem, Draft draft, int tries);

// Makes a full backward of an input gradient and the weight gradient behind it, where nobody waits
// for the former: one cell less, and at the steps level its wires find compute of its own.
Draft join_backwards(const SearchProblem& problem, Draft draft, int tries);

}  // namespace weft
