#include "estimate/simulated_plan.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "estimate/model_bytes.h"
#include "estimate/plan_estimate.h"
#include "layout/make_layout.h"
#include "passes/pass_list.h"
#include "passes/verify.h"
#include "plan/run_plan.h"
#include "simulate/memory_curve.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

bool knows_model(const ModelConfig& model) {
  return model.hidden_size > 0 && model.num_attention_heads > 0 && model.seq_length > 0 &&
         model.vocab_size > 0;
}

void require_known_bytes(const Config& config, bool known) {
  const std::optional<double> limit = config.schedule.max_activation_bytes;
  if (!limit || known) return;
  throw UserError({"max-activation-bytes", fmt::format("--max-activation-bytes {:.0f}", *limit),
                   "what a micro-batch keeps is not known: give the model's sizes (--model, or "
                   "--hidden-size, --num-attention-heads, --seq-length, --vocab-size), or a table "
                   "[bytes] in the file of --costs"});
}

// Sets the curve of bytes and holds the plan to its limits.
template <class Plan>
SimulatedPlan finished(const Config& config, const Plan& plan, SimulatedPlan simulated) {
  const PlanTimes times = entry_times(plan, simulated.timeline);
  std::vector<Finding> over = verify_limits(plan, simulated.held, limits_of(config), times);
  if (!over.empty()) throw PlanError(std::move(over));
  if (simulated.bytes_known) add_memory(simulated.timeline, simulated.held, times);
  return simulated;
}

// Stage by stage; empty if they are not known.
std::vector<KeptBytes> bytes_of_stages(const Config& config, const StageMap& map,
                                       const CostBytes& bytes) {
  if (!bytes.empty()) return stage_bytes(bytes, make_layout(config, map));
  if (!knows_model(config.model)) return {};
  const Layout layout = make_layout(config, map);
  return model_stage_bytes(layout, model_table(config, layout));
}

SimulatedPlan simulated_steps(const Config& config, const Schedule& schedule, const Costs& costs) {
  const bool by_costs = !costs.bytes.empty();
  const bool by_model = !by_costs && knows_model(config.model);
  require_known_bytes(config, by_costs || by_model);
  const StepPlan plan =
      lower(schedule, make_layout(config, schedule.map), costs, lower_options(config));
  PlanHeld held = held_by_step(plan, costs.bytes);
  if (by_model) {
    held = with_bytes(std::move(held), count_activations(plan, model_table(config, plan.layout)));
  }
  return finished(config, plan, {simulate(plan, costs), std::move(held), by_costs || by_model});
}

}  // namespace

Schedule verified_transfers(const Config& config, const Schedule& schedule) {
  const LowerOptions options = lower_options(config);
  Schedule transfers =
      with_transfers(schedule, options.reduce_gradients, options.overlap_grad_reduce);
  if (std::vector<Finding> findings = verify_transfers(transfers); !findings.empty()) {
    throw PlanError(std::move(findings));
  }
  return transfers;
}

SimulatedPlan simulate_plan(const Config& config, const Schedule& schedule, const Costs& costs,
                            std::string_view level) {
  if (level == "steps") return simulated_steps(config, schedule, costs);
  const std::vector<KeptBytes> bytes = bytes_of_stages(config, schedule.map, costs.bytes);
  require_known_bytes(config, !bytes.empty());
  const bool transfers = level == "transfers";
  const Schedule plan = transfers ? verified_transfers(config, schedule) : compute_level(schedule);
  return finished(config, plan,
                  {transfers ? simulate_transfers(plan, costs) : simulate(plan, costs),
                   held_by_cell(plan, bytes), !bytes.empty()});
}

}  // namespace weft
