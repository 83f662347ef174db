// Costs read off what was measured, so that later steps can be predicted from the first ones.
#pragma once

#include <cstddef>
#include <vector>

#include "costs/costs.h"
#include "timeline/timeline.h"

namespace weft {

// The steps at the start of a run that its later ones are predicted from, and that warm up.
inline constexpr std::size_t kCostSteps = 2;

// Means over all steps-level timelines (one per step, merged) and ranks: of each segment's forward,
// dgrad and wgrad, and of each wire from its last participant's start to its end. A part or a wire
// that never ran is left out (0, or as Costs::of_wire). A layer is MoE if it has wires. For the
// compute level each stage has the sum of its segments, a mean over micro-batches, and `stage` is
// the mean over stages. The unit is the first timeline's.
Costs costs_from_timelines(const std::vector<Timeline>& timelines);

}  // namespace weft
