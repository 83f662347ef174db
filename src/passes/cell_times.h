// A clock for deciding where transfers go: when cells run if F, I and W last one unit each.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace weft {

// [rank][cell]. A cell that does not compute takes no time and stands at the end of the compute
// cell before it.
struct CellTimes {
  std::vector<std::vector<int>> start;
  std::vector<std::vector<int>> end;
};

// Every cell as early as its rank and what it depends on allow, hand-overs taking no time. What
// happens at these times happens in an order that respects all dependencies. Cells that are joined
// (num_joined as in join_cells.h; empty: none are) start together when all can and end together.
// Precondition: verify_order found nothing (InternalError otherwise). Linear.
CellTimes cell_times(const Schedule& schedule,
                     const std::vector<std::vector<int>>& num_joined = {});

// The compute actions of a cell: one, or forward and backward of a pair; none of a transfer.
std::vector<Action> compute_actions(const Cell& cell);

}  // namespace weft
