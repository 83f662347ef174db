#include "estimate/plan_estimate.h"

#include <utility>

#include "passes/chains.h"
#include "passes/verify_limits.h"
#include "simulate/simulate.h"

namespace weft {

MemoryReport memory_of(const ParameterCount& count, const ElementBytes& element,
                       std::int64_t activations) {
  MemoryReport memory;
  memory.weights = count.total() * element.main;
  // The router computes with the main weights (model/parameters.h).
  if (element.compute != element.main) {
    memory.weights += (count.total() - count.router) * element.compute;
  }
  memory.gradients = count.gradients() * element.main;
  memory.optimizer = 2 * count.total() * element.main;
  memory.activations = activations;
  return memory;
}

std::map<Bucket, std::int64_t> reduction_buffers(const ModelSizes& sizes, const Layout& layout,
                                                 const Mesh& mesh, const ElementBytes& element) {
  const auto buffers = [&](std::int64_t elements, std::int64_t ranks) {
    if (ranks == 1 || elements == 0) return std::int64_t{0};
    return 2 * ((elements + ranks - 1) / ranks) * ranks * element.main;
  };
  std::map<Bucket, std::int64_t> bytes;
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    for (const int layer : gradient_buckets(layout, Stage(s))) {
      const ParameterCount count = count_bucket(sizes, layout, Stage(s), layer, mesh.ep_size);
      bytes[{Stage(s), layer}] = buffers(count.replicated_gradients(), mesh.dp_size) +
                                 buffers(count.all_experts(), mesh.dp_size / mesh.ep_size);
    }
  }
  return bytes;
}

ActivationTable model_table(const Config& config, const Layout& layout) {
  const ModelSizes sizes = model_sizes(config);
  const ElementBytes element = element_bytes(config.train.params_dtype);
  const Mesh mesh = make_mesh(config.parallel);
  const std::int64_t tokens =
      std::int64_t{config.schedule.micro_batch_size.value()} * sizes.sequence;
  ActivationTable table = activation_table(sizes, tokens, element, mesh.ep_size);
  table.reduction = reduction_buffers(sizes, layout, mesh, element);
  return table;
}

PlanHeld with_bytes(PlanHeld held, const std::vector<RankActivations>& activations) {
  for (std::size_t r = 0; r < held.size(); ++r) {
    for (std::size_t i = 0; i < held[r].size(); ++i) {
      held[r][i].bytes = activations.at(r).during.at(i);
      held[r][i].bytes_after = activations.at(r).after.at(i);
    }
  }
  return held;
}

PlanEstimate estimate_plan(const Config& config) {
  PlanEstimate estimate;
  estimate.plan = make_step_plan(config);
  estimate.sizes = model_sizes(config);
  estimate.element = element_bytes(config.train.params_dtype);
  const RunPlan& plan = estimate.plan;
  estimate.table = model_table(config, plan.layout);
  estimate.activations = count_activations(plan.steps, estimate.table);
  estimate.timeline = simulate(plan.steps, plan.costs);
  estimate.metrics = measure(estimate.timeline);
  return estimate;
}

PlanHeld held_of(const PlanEstimate& estimate) {
  return with_bytes(held_by_step(estimate.plan.steps, {}), estimate.activations);
}

PlanTimes times_of(const PlanEstimate& estimate) {
  return entry_times(estimate.plan.steps, estimate.timeline);
}

std::vector<Finding> limit_findings(const Config& config, const PlanEstimate& estimate) {
  const PlanLimits limits = limits_of(config);
  if (limits == PlanLimits{}) return {};
  return verify_limits(estimate.plan.steps, held_of(estimate), limits, times_of(estimate));
}

}  // namespace weft
