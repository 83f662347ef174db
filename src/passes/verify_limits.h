// Memory limits of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "passes/live.h"
#include "schedule/schedule.h"
#include "schedule/step.h"
#include "timeline/entry_times.h"

namespace weft {

// Of each rank; what is not set is not limited.
struct PlanLimits {
  std::optional<int> live_chunks = {};
  std::optional<int> pending_wgrads = {};
  std::optional<std::int64_t> bytes = {};  // of activations and of what W's keep

  bool operator==(const PlanLimits&) const = default;
};

// One finding for each rank and limit that is exceeded: the first cell or step that exceeds it,
// when it does (unless `times` is empty), what is held there, the limit, and the rank's peak. Any
// level; `held` is the plan's (live.h).
std::vector<Finding> verify_limits(const Schedule& schedule, const PlanHeld& held,
                                   const PlanLimits& limits, const PlanTimes& times = {});
std::vector<Finding> verify_limits(const StepPlan& plan, const PlanHeld& held,
                                   const PlanLimits& limits, const PlanTimes& times = {});

}  // namespace weft
