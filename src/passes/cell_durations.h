// How long cells last once they are lowered to steps.
#pragma once

#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/action.h"

namespace weft {

// [cells]. Each alone: what it receives is in, what it sends is not waited for, the wires inside it
// are its own. With `overlap` its segments are woven, else every wire is waited for at once
// (StepOptions). Cells of stages that hold the same are woven once.
std::vector<double> cell_durations(const std::vector<Cell>& cells, const Layout& layout,
                                   const Costs& costs, bool overlap);

}  // namespace weft
