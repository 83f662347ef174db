// Where the sums of gradients over data parallel replicas go among a rank's steps.
#pragma once

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/step.h"

namespace weft {

// Fills the empty spans that stand for REDUCE_GRAD cells. A bucket (chains.h) is reduced, then
// gathered: each replica sums a share of it, then all get the shares.
//   overlap   reducing starts behind the bucket's last W if its cell has nothing but transfers
//             between itself and the REDUCE_GRAD cell, else at that cell. Waiting for it, which
//             starts gathering, and for that is put ahead of the first segment at which each would
//             be done if it took twice its cost: no later, so that gathering is hidden too, and no
//             earlier, so that a slow link holds up no compute.
//   else      all start at their cells
// What is then left is waited for at the end, in order of start.
void place_reductions(RankSteps& steps, const Layout& layout, const Costs& costs, bool overlap);

}  // namespace weft
