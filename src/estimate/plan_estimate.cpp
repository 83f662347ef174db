#include "estimate/plan_estimate.h"

#include <utility>

#include "passes/chains.h"
#include "simulate/simulate.h"

namespace weft {

std::optional<double> seconds_of(const std::string& unit) {
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return seconds;
  }
  return std::nullopt;
}

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

PlanEstimate estimate_plan(const Config& config) {
  PlanEstimate estimate;
  estimate.plan = make_step_plan(config);
  estimate.sizes = model_sizes(config);
  estimate.element = element_bytes(config.train.params_dtype);
  const RunPlan& plan = estimate.plan;
  const std::int64_t tokens = std::int64_t{plan.sizes.micro_batch_size} * estimate.sizes.sequence;
  estimate.table = activation_table(estimate.sizes, tokens, estimate.element, plan.mesh.ep_size);
  estimate.table.reduction =
      reduction_buffers(estimate.sizes, plan.layout, plan.mesh, estimate.element);
  estimate.activations = count_activations(plan.steps, estimate.table);
  estimate.timeline = simulate(plan.steps, plan.costs);
  estimate.metrics = measure(estimate.timeline);
  return estimate;
}

}  // namespace weft
