// Event loop: when everything in a plan would happen under given costs.
#pragma once

#include "schedule/schedule.h"
#include "schedule/step.h"
#include "costs/costs.h"
#include "timeline/timeline.h"

namespace weft {

// Compute level: a cell starts when its rank is free and what it depends on is done (plus `p2p`
// across ranks). Throws PlanError with the cycle or the missing action if it cannot end.
Timeline simulate(const Schedule& schedule, const Costs& costs);

// Steps level: compute is one lane, each wire kind a lane, wires of one lane in order. A wire lasts
// its cost from the moment all participants started it. An expert parallel group is taken to be in
// step with itself.
Timeline simulate(const StepPlan& plan, const Costs& costs);

struct LiveCounts {
  int peak_live_chunks = 0;    // F start to end of B, or of I where split
  int max_pending_wgrads = 0;  // I done, W not done
};

// Per rank, in list order (independent of costs, since a rank runs one cell at a time).
std::vector<LiveCounts> count_live(const Schedule& schedule);

}  // namespace weft
