// Memory limits of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "passes/live.h"
#include "schedule/schedule.h"

namespace weft {

// Of each rank; what is not set is not limited.
struct PlanLimits {
  std::optional<int> live_chunks;
  std::optional<int> pending_wgrads;
  std::optional<std::int64_t> bytes;    // of activations and of what W's keep
  std::vector<StageBytes> stage_bytes;  // [stage], for `bytes`

  bool operator==(const PlanLimits&) const = default;
};

// One finding for each rank and limit that is exceeded, at the first cell that exceeds it, with the
// peak. Compute level.
std::vector<Finding> verify_limits(const Schedule& schedule, const PlanLimits& limits);

}  // namespace weft
