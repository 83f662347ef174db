// Transfers level to steps level.
#pragma once

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

struct StepOptions {
  // Weave the segments of each cell so that wires run under compute; else every all-to-all is
  // waited for as soon as it has started, and a pair runs its forward, then its backward.
  bool moe_fb_overlap = false;
  bool overlap_outside_steady = false;  // join_cells; needs moe_fb_overlap
  bool overlap_grad_reduce = false;     // place_reductions
};

// Replaces every cell by steps (step.h).
//   compute   the cell's segments in woven or eager order; sends start right behind the segment
//             whose output they carry, receives are waited for right ahead of the segment that
//             needs them
//   receive   its start
//   send      its wait and release: at least one whole compute cell behind its start, no sooner
//             than the receiver has started its end (by cell_times, which is why none can wait in
//             a circle), and one more cell behind that, so that a receiver that is a little late
//             holds up no one
//   reduce    the sums of its stage's buckets (place_reductions)
// Cells that are joined are lowered as one. A cell's steps depend only on its kind and its stages:
// they are worked out once per shape. Precondition: verify_transfers found nothing. Last of the
// passes: nothing below it makes decisions.
StepPlan lower_steps(const Schedule& transfers, const Layout& layout, const Costs& costs,
                     const StepOptions& options);

}  // namespace weft
