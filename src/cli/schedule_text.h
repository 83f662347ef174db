// Schedules with transfers, and steps, as text for a person.
#pragma once

#include <string>

#include "schedule/schedule.h"
#include "schedule/step.h"
#include "timeline/timeline.h"

namespace weft {

// The grid of the compute level, a line of receives over each rank and one of sends under it: a
// receive is posted before the cell below it, a send starts behind the cell above it. `compute` is
// the compute level of the same schedule, simulated.
std::string transfers_text(const Schedule& transfers, const Timeline& compute, int width);

// Rank by rank: when each cell starts, and its steps in order. Of the steps of a cell that is no
// pair the cell's own name is left out. `timeline` is the simulation of `plan`.
std::string steps_text(const StepPlan& plan, const Timeline& timeline, int width);

}  // namespace weft
