#include "passes/pass_list.h"

#include <algorithm>

#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/run_pass.h"
#include "passes/verify.h"

namespace weft {
namespace {

bool has_reductions(const Schedule& schedule) {
  const auto is_reduction = [](const Cell& cell) {
    const Action* action = std::get_if<Action>(&cell);
    return action != nullptr && action->kind == ActionKind::ReduceGrad;
  };
  return std::any_of(schedule.ranks.begin(), schedule.ranks.end(), [&](const auto& cells) {
    return std::any_of(cells.begin(), cells.end(), is_reduction);
  });
}

}  // namespace

Schedule with_transfers(const Schedule& schedule, bool reduce_gradients, bool overlap_grad_reduce) {
  if (is_compute_level(schedule)) {
    return lower_transfers(schedule, reduce_gradients, overlap_grad_reduce);
  }
  Schedule lowered = schedule;
  if (reduce_gradients && !has_reductions(schedule)) add_reductions(lowered, overlap_grad_reduce);
  return lowered;
}

StepPlan lower(const Schedule& schedule, const Layout& layout, const Costs& costs,
               const LowerOptions& options) {
  // The order may come from a file: nothing below is defined on one that cannot run.
  const Schedule ordered = run_pass(
      "order", [&] { return schedule; },
      [&](const Schedule& s) { return verify_order(s, options.forward_only); });

  // Before the steps: those of a cell depend on what enters and leaves its rank.
  const bool reduce = options.reduce_gradients && !options.forward_only;
  const Schedule transfers = run_pass(
      "lower_transfers",
      [&] { return with_transfers(ordered, reduce, options.overlap_grad_reduce); },
      verify_transfers);

  // Last: what comes out is executed as it stands. Weaving belongs to it, cell by cell, since the
  // ranks of an expert parallel group have the same cells, and with outside_steady join the same.
  return run_pass(
      "lower_steps",
      [&] {
        return lower_steps(
            transfers, layout, costs,
            {options.moe_fb_overlap, options.overlap_outside_steady, options.overlap_grad_reduce});
      },
      [&](const StepPlan& plan) { return verify_steps(plan, options.forward_only); });
}

}  // namespace weft
