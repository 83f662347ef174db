// Event loop: when everything in a plan would happen under given costs.
#pragma once

#include <vector>

#include "costs/costs.h"
#include "passes/live.h"
#include "schedule/schedule.h"
#include "schedule/step.h"
#include "timeline/timeline.h"

namespace weft {

// Compute level: a cell starts when its rank is free and what it depends on is done (plus `p2p`
// across ranks). A pair depends on what both its halves do and is done as a whole. `end` of every
// rank is the makespan. Throws PlanError with all that verify_order finds if it cannot end.
// Linear in the number of cells; exact where costs are integers.
Timeline simulate(const Schedule& schedule, const Costs& costs);

// Transfers level: a cell also waits for what it receives. A hand-over begins when both its ends
// are posted and the one before it on its (edge, direction) has begun, and lasts `p2p`, or what the
// costs name for its ends; several can be under way. Sends are not waited for, sums of gradients
// only at the end. Cells and waits are on the compute lane, hand-overs on theirs. Precondition:
// verify_order and verify_transfers found nothing.
Timeline simulate_transfers(const Schedule& schedule, const Costs& costs);

// Steps level: compute is one lane, each wire kind a lane, wires of one lane in order; a hand-over
// is in order within its (edge, direction). A wire lasts its cost from the moment all participants
// started it and it is the first of its queue; the two ends of a hand-over have costs of their own,
// since a send can be over before the message is in. An expert parallel group and data parallel
// replicas are taken to be in step with themselves. A wait that blocks leaves a WaitWire event.
// Throws PlanError with the cycle or the missing start if it cannot end.
Timeline simulate(const StepPlan& plan, const Costs& costs);

}  // namespace weft
