// Local search: ops of a longest path are moved, split and woven while that does no harm.
#pragma once

#include <cstdint>

#include "search/draft.h"
#include "search/problem.h"

namespace weft {

// At most `steps` changes are tried; ends early at `bound`. The result is never worse. Equal
// arguments give equal results.
Draft improve(const SearchProblem& problem, Draft draft, double bound, int steps,
              std::uint64_t seed);

}  // namespace weft
