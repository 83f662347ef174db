// A plan under given costs with what it holds over time, at any level, within the limits of the
// flags: what `weft simulate` and the pictures of `weft schedule` show.
#pragma once

#include <string_view>

#include "config/config.h"
#include "costs/costs.h"
#include "passes/live.h"
#include "passes/verify_limits.h"
#include "schedule/schedule.h"
#include "timeline/timeline.h"

namespace weft {

struct SimulatedPlan {
  Timeline timeline;  // with the bytes over time if they are known
  PlanHeld held;      // of each cell or step; its bytes are 0 if they are not known
  bool bytes_known = false;
};

// The schedule at its level, `compute`, `transfers` or `steps`, lowered as the flags say. Takes a
// resolved config. Bytes are those of the costs; if these name none, of the model, if the config
// has its sizes. Throws PlanError with all that is above the limits and where a lowered plan does
// not pass its verifiers, UserError for a limit of bytes that are not known. Precondition:
// verify_order found nothing.
SimulatedPlan simulate_plan(const Config& config, const Schedule& schedule, const Costs& costs,
                            std::string_view level);

// The schedule with its transfers, verified: PlanError with all findings.
Schedule verified_transfers(const Config& config, const Schedule& schedule);

}  // namespace weft
