// What the cells of a compute-level timeline wait for.
#pragma once

#include <vector>

#include "timeline/timeline.h"

namespace weft {

// The event that makes what a cell needs, and the rank that runs it.
struct Need {
  const Event* event = nullptr;  // null: it needs nothing
  Rank rank;
};

// [rank][event]: of all that a cell needs (a forward the stage before, a backward the stage behind
// and its own forward, a W its I) what ends last; null for steps. Points into `timeline`.
std::vector<std::vector<Need>> last_needs(const Timeline& timeline);

}  // namespace weft
