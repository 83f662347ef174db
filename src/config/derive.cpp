#include "config/derive.h"

#include <algorithm>

namespace weft {
namespace {

std::optional<int> known_ranks(const Config& config, const RunFacts& facts) {
  return facts.world_size.has_value() ? facts.world_size : config.launch.local_ranks;
}

}  // namespace

bool is_schedule_file(std::string_view method) { return method.ends_with(".csv"); }

bool is_v_schedule(std::string_view method) {
  return method == "dualpipev" || method == "zb-v" || method == "auto";
}

bool has_one_chunk(std::string_view method) {
  return method == "gpipe" || method == "1f1b" || method == "zb-h1" || method == "zb-h2";
}

bool has_pairs(std::string_view method) {
  return method == "dualpipev" || method == "interleaved" || method == "no-pipeline" ||
         method == "auto" || is_schedule_file(method);
}

bool lies_as_v(const Config& config, const RunFacts& facts) {
  if (facts.schedule_file.has_value()) return facts.schedule_file->is_v;
  return is_v_schedule(config.schedule.schedules_method) || config.schedule.placement == "v";
}

int chunks_per_rank(const Config& config, const RunFacts& facts) {
  const ScheduleConfig& schedule = config.schedule;
  const int ranks = config.parallel.pipeline_model_parallel_size;
  if (facts.schedule_file.has_value()) return facts.schedule_file->chunks_per_rank;
  if (lies_as_v(config, facts)) return 2;
  if (facts.layout_stages.has_value()) return std::max(1, *facts.layout_stages / ranks);
  if (schedule.num_virtual_stages_per_pipeline_rank.has_value()) {
    return *schedule.num_virtual_stages_per_pipeline_rank;
  }
  if (schedule.num_layers_per_virtual_pipeline_stage.has_value() &&
      config.model.num_layers.has_value()) {
    // What does not fill the last round of stages still gets it.
    const auto per_round = std::int64_t{*schedule.num_layers_per_virtual_pipeline_stage} * ranks;
    return static_cast<int>((*config.model.num_layers + per_round - 1) / per_round);
  }
  return schedule.schedules_method == "interleaved" ? 2 : 1;
}

std::string schedule_method(const Config& config, const RunFacts& facts) {
  if (!config.schedule.schedules_method.empty()) return config.schedule.schedules_method;
  if (config.parallel.pipeline_model_parallel_size == 1) return "no-pipeline";
  return chunks_per_rank(config, facts) > 1 ? "interleaved" : "1f1b";
}

int data_parallel_size(const Config& config, const RunFacts& facts) {
  const ParallelConfig& parallel = config.parallel;
  if (const std::optional<int> ranks = known_ranks(config, facts)) {
    const std::int64_t model_ranks =
        std::int64_t{parallel.pipeline_model_parallel_size} * parallel.tensor_model_parallel_size;
    return static_cast<int>(std::max<std::int64_t>(1, *ranks / model_ranks));
  }
  return parallel.data_parallel_size.value_or(parallel.expert_model_parallel_size);
}

std::optional<int> num_micro_batches(const Config& config, const RunFacts& facts) {
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.num_microbatches.has_value()) return schedule.num_microbatches;
  if (!schedule.global_batch_size.has_value() || !schedule.micro_batch_size.has_value()) {
    return std::nullopt;
  }
  const std::int64_t per_micro_batch =
      std::int64_t{*schedule.micro_batch_size} * data_parallel_size(config, facts);
  return static_cast<int>(*schedule.global_batch_size / per_micro_batch);
}

int micro_batch_size(const Config& config, const RunFacts& facts) {
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.micro_batch_size.has_value()) return *schedule.micro_batch_size;
  if (!schedule.global_batch_size.has_value() || !schedule.num_microbatches.has_value()) return 1;
  const std::int64_t micro_batches =
      std::int64_t{*schedule.num_microbatches} * data_parallel_size(config, facts);
  return static_cast<int>(std::max<std::int64_t>(1, *schedule.global_batch_size / micro_batches));
}

std::string schedule_title(const Config& config) {
  const ScheduleConfig& schedule = config.schedule;
  std::string title = schedule.schedules_method;
  if (schedule.moe_fb_overlap) title += ", --moe-fb-overlap";
  if (schedule.dualpipev_dw_detach) title += ", --dualpipev-dw-detach";
  return title + ", P = " + std::to_string(config.parallel.pipeline_model_parallel_size) +
         ", M = " + std::to_string(schedule.num_microbatches.value_or(0));
}

ModelConfig with_derived_sizes(ModelConfig model) {
  if (model.ffn_hidden_size == 0) model.ffn_hidden_size = 4 * model.hidden_size;
  if (model.num_query_groups == 0) model.num_query_groups = model.num_attention_heads;
  if (model.kv_channels == 0 && model.num_attention_heads > 0) {
    model.kv_channels = model.hidden_size / model.num_attention_heads;
  }
  if (model.moe_ffn_hidden_size == 0) model.moe_ffn_hidden_size = model.ffn_hidden_size;
  return model;
}

Config resolved(const Config& config, const RunFacts& facts) {
  Config result = config;
  result.model = with_derived_sizes(config.model);
  ScheduleConfig& schedule = result.schedule;
  schedule.schedules_method = schedule_method(config, facts);
  schedule.num_microbatches = num_micro_batches(config, facts);
  schedule.micro_batch_size = micro_batch_size(config, facts);
  result.parallel.data_parallel_size = data_parallel_size(config, facts);
  if (schedule.num_microbatches.has_value()) {
    schedule.global_batch_size = *schedule.micro_batch_size * *schedule.num_microbatches *
                                 *result.parallel.data_parallel_size;
  }
  const bool chunks_are_given = lies_as_v(config, facts) ||
                                schedule.num_layers_per_virtual_pipeline_stage.has_value() ||
                                !schedule.pipeline_model_parallel_layout.empty();
  const int chunks = chunks_per_rank(config, facts);
  if (!chunks_are_given && chunks > 1) schedule.num_virtual_stages_per_pipeline_rank = chunks;
  if (!result.train.lr_decay_iters.has_value())
    result.train.lr_decay_iters = result.train.train_iters;
  return result;
}

ElementBytes element_bytes(const std::string& params_dtype) {
  if (params_dtype == "fp64") return {8, 8};
  if (params_dtype == "bf16") return {2, 4};
  return {4, 4};
}

}  // namespace weft
