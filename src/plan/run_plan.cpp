#include "plan/run_plan.h"

#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "config/derive.h"
#include "costs/costs_toml.h"
#include "layout/make_layout.h"
#include "schedule/csv.h"
#include "schedule/registry.h"
#include "search/search_schedule.h"

namespace weft {
namespace {

Schedule read_schedule(const Config& config) {
  const std::string& file = config.schedule.schedules_method;
  Schedule schedule = read_csv(file);
  const int ranks = config.parallel.pipeline_model_parallel_size;
  const int micro_batches = config.schedule.num_microbatches.value();
  if (schedule.map.num_ranks != ranks || schedule.num_micro_batches != micro_batches) {
    throw UserError({"schedule-file-agrees", "--schedules-method " + file,
                     "the file is for " + counted(schedule.map.num_ranks, "pipeline rank") +
                         " and " + counted(schedule.num_micro_batches, "micro-batch") +
                         ", the run has " + std::to_string(ranks) + " and " +
                         std::to_string(micro_batches)});
  }
  return schedule;
}

Schedule search_on(const Config& config, const Costs& costs) {
  AutoRequest request{.num_ranks = config.parallel.pipeline_model_parallel_size,
                      .num_micro_batches = config.schedule.num_microbatches.value(),
                      .max_live_chunks = config.schedule.max_live_chunks,
                      .overlap = config.schedule.moe_fb_overlap,
                      .costs = costs,
                      .lowering = lower_options(config)};
  if (!costs.wires.empty()) {
    request.layout = make_layout(config, make_stage_map(config, Placement::V));
  }
  FoundSchedule found = search_schedule(request);
  log_info(found.summary);
  return std::move(found.schedule);
}

}  // namespace

Costs sized_costs(const Config& config, const Costs& read) {
  return with_sizes(
      read, config.model, config.parallel, config.schedule.micro_batch_size.value_or(1),
      static_cast<int>(element_bytes(config.train.params_dtype).compute), config.extras);
}

Costs given_costs(const Config& config) {
  if (!config.train.costs.empty()) return sized_costs(config, read_costs(config.train.costs));
  Costs costs;
  costs.stage = {config.cost.cost_forward, config.cost.cost_dgrad, config.cost.cost_wgrad};
  costs.pair = config.cost.cost_pair;
  costs.p2p = config.cost.cost_p2p;
  return costs;
}

Costs step_costs(const Config& config) {
  if (!config.train.costs.empty()) return sized_costs(config, read_costs(config.train.costs));
  return estimate_costs(
      config.model, config.parallel, Rates(), config.schedule.micro_batch_size.value_or(1),
      static_cast<int>(element_bytes(config.train.params_dtype).compute), config.extras);
}

PlanLimits limits_of(const Config& config) {
  const ScheduleConfig& schedule = config.schedule;
  PlanLimits limits{schedule.max_live_chunks, schedule.max_pending_wgrads, {}};
  if (schedule.max_activation_bytes) {
    limits.bytes = static_cast<std::int64_t>(*schedule.max_activation_bytes);
  }
  return limits;
}

Mesh make_mesh(const ParallelConfig& parallel) {
  return {.pp_size = parallel.pipeline_model_parallel_size,
          .dp_size = parallel.data_parallel_size.value(),
          .ep_size = parallel.expert_model_parallel_size,
          .tp_size = parallel.tensor_model_parallel_size};
}

LowerOptions lower_options(const Config& config) {
  return {.moe_fb_overlap = config.schedule.moe_fb_overlap,
          .reduce_gradients = config.parallel.data_parallel_size.value_or(1) > 1,
          .overlap_outside_steady = config.schedule.overlap_outside_steady,
          .overlap_grad_reduce = config.schedule.overlap_grad_reduce};
}

Schedule make_schedule(const Config& config, const Costs& costs) {
  const ScheduleConfig& wanted = config.schedule;
  if (wanted.schedules_method == "auto") return search_on(config, costs);
  if (is_schedule_file(wanted.schedules_method)) return read_schedule(config);
  const ScheduleEntry* entry = find_schedule(wanted.schedules_method);
  const Placement placement = entry != nullptr ? entry->placement : Placement::Looped;
  return build_schedule(
      wanted.schedules_method,
      {.num_ranks = config.parallel.pipeline_model_parallel_size,
       .chunks_per_rank = make_stage_map(config, placement).chunks_per_rank,
       .num_micro_batches = wanted.num_microbatches.value(),
       .group_size = wanted.microbatch_group_size_per_virtual_pipeline_stage.value_or(0),
       .overlap = wanted.moe_fb_overlap,
       .detach = wanted.dualpipev_dw_detach});
}

RunPlan make_step_plan(const Config& config) {
  RunPlan plan;
  plan.mesh = make_mesh(config.parallel);
  plan.sizes.micro_batch_size = config.schedule.micro_batch_size.value();
  plan.sizes.num_micro_batches = config.schedule.num_microbatches.value();
  plan.sizes.global_batch_size =
      plan.sizes.micro_batch_size * plan.sizes.num_micro_batches * plan.mesh.dp_size;
  plan.tied_embeddings = !config.model.untie_embeddings_and_output_weights;
  plan.costs = step_costs(config);
  plan.schedule = make_schedule(config, plan.costs);
  plan.layout = make_layout(config, plan.schedule.map);
  plan.steps = lower(plan.schedule, plan.layout, plan.costs, lower_options(config));
  return plan;
}

RunPlan make_run_plan(const Config& config) {
  RunPlan plan = make_step_plan(config);
  PlanLimits limits = limits_of(config);
  limits.bytes.reset();  // only `weft plan` and what draws know them
  std::vector<Finding> over = verify_limits(plan.steps, held_by_step(plan.steps, {}), limits);
  if (!over.empty()) throw PlanError(std::move(over));
  plan.forward_steps =
      lower(build_forward_only(plan.schedule.map, plan.sizes.num_micro_batches), plan.layout,
            plan.costs, {.moe_fb_overlap = config.schedule.moe_fb_overlap, .forward_only = true});
  return plan;
}

}  // namespace weft
