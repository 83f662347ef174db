// From what each process recorded of a step to one timeline.
#pragma once

#include <optional>
#include <vector>

#include "layout/mesh.h"
#include "timeline/timeline.h"

namespace weft {

// `ranks` holds what each process recorded: `rank` its global rank; times in ms on one clock; a
// wire's `start` is when this rank started it (`issued` is not read). Returns them in order of rank
// with each wire's `start` moved to the moment its last participant started it (members of the
// expert parallel group for all-to-alls and counts, the other end for a hand-over, the data
// parallel group for gradients) and its own in `issued`; times from `origin`, by default the first
// event of all; `end` of every rank the last of all.
//
// Tolerant of clocks: a start after the wire's end here is moved to that end, a participant that is
// not in `ranks` is taken to have started at once. A wire that a rank starts more than once is
// matched by its occurrence.
Timeline merge_timelines(std::vector<RankTimeline> ranks, const Mesh& mesh,
                         std::optional<double> origin = std::nullopt);

}  // namespace weft
