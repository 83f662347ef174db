// From a schedule to what the runtime executes: the passes in their order.
//
//   compute level --verify_order--> lower_transfers --verify_transfers--> lower_steps (weave)
//                 --verify_steps--> simulate or execute
#pragma once

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

struct LowerOptions {
  bool moe_fb_overlap = false;    // weave; without it every wire is waited for at once
  bool reduce_gradients = false;  // data parallel size above 1: REDUCE_GRAD after a stage's last W
  bool forward_only = false;      // evaluation: a schedule of forwards only
  bool overlap_outside_steady = false;  // weave two forwards, two backwards; needs moe_fb_overlap
  bool overlap_grad_reduce = false;     // reductions under the compute behind a stage's last W
};

// A schedule of the transfers level keeps its transfers; reductions are added if `reduce_gradients`
// and it has none. Precondition: verify_order found nothing.
Schedule with_transfers(const Schedule& schedule, bool reduce_gradients,
                        bool overlap_grad_reduce = false);

// Runs all passes, each followed by its verifier. Throws PlanError with every finding.
StepPlan lower(const Schedule& schedule, const Layout& layout, const Costs& costs,
               const LowerOptions& options);

}  // namespace weft
