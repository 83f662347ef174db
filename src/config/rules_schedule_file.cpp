// Rules on a schedule that is in a file: flags that are given beside it have to agree with it.
#include "base/names.h"
#include "config/rules.h"

namespace weft {
namespace {

std::string with_flag(const RuleInput& input, std::string_view flag) {
  return input.request.found("schedules-method") + " and " + input.request.found(flag);
}

RuleBreak ranks_agree(const RuleInput& input) {
  const auto* flag = "pipeline-model-parallel-size";
  if (!input.facts.schedule_file.has_value() || !input.request.given(flag)) return {};
  const int ranks = input.facts.schedule_file->num_ranks;
  if (input.config.parallel.pipeline_model_parallel_size == ranks) return {};
  return {with_flag(input, flag), "the file has lines for " + counted(ranks, "pipeline rank") +
                                      ": give " + std::to_string(ranks) + " or leave the flag out"};
}

RuleBreak micro_batches_agree(const RuleInput& input) {
  if (!input.facts.schedule_file.has_value()) return {};
  const int in_file = input.facts.schedule_file->num_micro_batches;
  const int asked = num_micro_batches(input.config, input.facts).value_or(in_file);
  if (asked == in_file) return {};
  if (input.request.given("num-microbatches")) {
    return {with_flag(input, "num-microbatches"),
            "the file has " + counted(in_file, "micro-batch") + ": give " +
                std::to_string(in_file) + " or leave the flag out"};
  }
  return {with_flag(input, "global-batch-size"),
          "the sizes make " + counted(asked, "micro-batch") + ", the file has " +
              std::to_string(in_file) + ": change --global-batch-size or --micro-batch-size"};
}

RuleBreak stages_agree(const RuleInput& input) {
  if (!input.facts.schedule_file.has_value()) return {};
  const ScheduleFileFacts& file = *input.facts.schedule_file;
  const ScheduleConfig& schedule = input.config.schedule;
  const std::string has = "the file has " + counted(file.chunks_per_rank, "chunk") + " a rank";
  const auto* stages_flag = "num-virtual-stages-per-pipeline-rank";
  if (schedule.num_virtual_stages_per_pipeline_rank.value_or(file.chunks_per_rank) !=
      file.chunks_per_rank) {
    return {with_flag(input, stages_flag), has + ": leave the flag out"};
  }
  const std::optional<int> per_stage = schedule.num_layers_per_virtual_pipeline_stage;
  const std::optional<int> layers = input.config.model.num_layers;
  if (per_stage.has_value() && layers.has_value()) {
    const std::int64_t round = std::int64_t{*per_stage} * file.num_ranks;
    const std::int64_t chunks = (*layers + round - 1) / round;
    if (chunks != file.chunks_per_rank) {
      return {with_flag(input, "num-layers-per-virtual-pipeline-stage"),
              has + ", this makes " + std::to_string(chunks) + ": leave the flag out"};
    }
  }
  const int stages = file.num_ranks * file.chunks_per_rank;
  if (input.facts.layout_stages.value_or(stages) == stages) return {};
  return {with_flag(input, "pipeline-model-parallel-layout"),
          "the file has " + counted(stages, "stage") + ", the layout " +
              std::to_string(*input.facts.layout_stages)};
}

RuleBreak file_has_pairs(const RuleInput& input) {
  if (!input.facts.schedule_file.has_value() || !input.config.schedule.moe_fb_overlap) return {};
  if (input.facts.schedule_file->has_pairs) return {};
  return {
      input.request.found("schedules-method") + " with " + input.request.found("moe-fb-overlap"),
      "the file has no pair like (0F1;0B0)OVERLAP_F_B to weave: leave the flag out"};
}

}  // namespace

std::vector<Rule> schedule_file_rules() {
  return {
      {"schedule-file-ranks", "schedule", kOwn, "", "schedules-method pipeline-model-parallel-size",
       ranks_agree},
      {"schedule-file-micro-batches", "schedule", kOwn, "",
       "schedules-method num-microbatches global-batch-size micro-batch-size data-parallel-size",
       micro_batches_agree},
      {"schedule-file-stages", "schedule", kOwn, "",
       "schedules-method num-virtual-stages-per-pipeline-rank num-layers "
       "num-layers-per-virtual-pipeline-stage pipeline-model-parallel-layout",
       stages_agree},
      {"schedule-file-pairs", "schedule", kOwn, "", "schedules-method moe-fb-overlap",
       file_has_pairs},
  };
}

}  // namespace weft
