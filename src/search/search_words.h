// The search itself: drafts under many policies, the best of them improved.
#pragma once

#include <vector>

#include "search/draft.h"
#include "search/problem.h"

namespace weft {

// Up to a few different orders, the best first; none is worse than the best of `incumbents`, which
// may be empty. Stops at the lower bound. Work is counted in ops, not in seconds: equal arguments
// give equal results everywhere.
std::vector<Draft> search_words(const SearchProblem& problem, std::vector<Draft> incumbents);

}  // namespace weft
