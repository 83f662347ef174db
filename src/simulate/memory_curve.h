// Bytes over time of a simulated plan.
#pragma once

#include "passes/live.h"
#include "timeline/entry_times.h"
#include "timeline/timeline.h"

namespace weft {

// Sets each rank's `memory`: from the start of an entry what is held while it runs, from its end
// what is held then. One sample a change; what lasts no time is kept if it is a peak.
void add_memory(Timeline& timeline, const PlanHeld& held, const PlanTimes& times);

}  // namespace weft
