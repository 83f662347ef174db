// When each entry of a plan's lists ran, those included that leave no event.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "schedule/step.h"
#include "timeline/timeline.h"

namespace weft {

struct EntryTime {
  double start = 0;
  double end = 0;

  bool operator==(const EntryTime&) const = default;
};

// [rank][entry]
using PlanTimes = std::vector<std::vector<EntryTime>>;

// Of the timeline that the plan was simulated to, each cell or step on its rank's compute lane. A
// transfer takes no time and stands at the end of the compute cell before it; a start or release,
// and a wait that did not block, at the end of the step before it.
PlanTimes entry_times(const Schedule& schedule, const Timeline& timeline);
PlanTimes entry_times(const StepPlan& plan, const Timeline& timeline);

}  // namespace weft
