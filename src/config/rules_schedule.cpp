// Rules on schedules, overlap, and the cut into stages.
#include <algorithm>

#include "base/names.h"
#include "config/rules.h"

namespace weft {

std::string method_of(const RuleInput& input) { return schedule_method(input.config, input.facts); }

int ranks_of(const RuleInput& input) { return input.config.parallel.pipeline_model_parallel_size; }

std::string method_found(const RuleInput& input) {
  if (input.request.given("schedules-method")) return input.request.found("schedules-method");
  return "--schedules-method not given (here: " + method_of(input) + ")";
}

std::string virtual_flag(const RuleInput& input) {
  for (const char* flag :
       {"num-virtual-stages-per-pipeline-rank", "num-layers-per-virtual-pipeline-stage"}) {
    if (input.request.given(flag)) return flag;
  }
  return "";
}

namespace {

bool has_layout(const RuleInput& input) {
  return !input.config.schedule.pipeline_model_parallel_layout.empty();
}

RuleBreak outside_steady_needs_overlap(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (!schedule.overlap_outside_steady || schedule.moe_fb_overlap) return {};
  return {input.request.found("overlap-outside-steady") + " without --moe-fb-overlap",
          "it weaves more under the overlap: add --moe-fb-overlap or leave it out"};
}

RuleBreak no_pipeline_one_rank(const RuleInput& input) {
  if (method_of(input) != "no-pipeline" || ranks_of(input) == 1) return {};
  return {method_found(input) + " with " + input.request.found("pipeline-model-parallel-size"),
          "no-pipeline is for one pipeline rank: use 1f1b, interleaved or dualpipev"};
}

RuleBreak schedule_chunks(const RuleInput& input) {
  const std::string method = method_of(input);
  if (is_v_schedule(method)) return {};
  const int chunks = chunks_per_rank(input.config, input.facts);
  std::string source = virtual_flag(input);
  if (source.empty()) source = "pipeline-model-parallel-layout";
  const std::string found = method_found(input) + " with " + input.request.found(source);
  if (method == "interleaved" && chunks < 2) {
    return {found, "interleaved needs at least 2 chunks a rank; with 1 use 1f1b"};
  }
  if (has_one_chunk(method) && chunks > 1) {
    return {found, method + " has one chunk a rank, this asks for " + std::to_string(chunks) +
                       ": use interleaved, or leave --" + source + " out"};
  }
  return {};
}

RuleBreak virtual_flags_exclusive(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (!schedule.num_virtual_stages_per_pipeline_rank.has_value() ||
      !schedule.num_layers_per_virtual_pipeline_stage.has_value()) {
    return {};
  }
  return {input.request.found("num-virtual-stages-per-pipeline-rank") + " and " +
              input.request.found("num-layers-per-virtual-pipeline-stage"),
          "both say how many chunks a rank has: give one of them"};
}

RuleBreak virtual_layers_need_layers(const RuleInput& input) {
  const bool given =
      input.config.schedule.num_layers_per_virtual_pipeline_stage.has_value() && !has_layout(input);
  if (!given || input.config.model.num_layers.has_value()) return {};
  return {input.request.found("num-layers-per-virtual-pipeline-stage") + " without --num-layers",
          "the number of chunks follows from both: add --num-layers, or use "
          "--num-virtual-stages-per-pipeline-rank"};
}

RuleBreak layout_stages_fit(const RuleInput& input) {
  if (!input.facts.layout_stages.has_value()) return {};
  const int stages = *input.facts.layout_stages;
  const int ranks = ranks_of(input);
  const std::string found = input.request.found("pipeline-model-parallel-layout");
  const bool is_v = is_v_schedule(method_of(input)) || input.config.schedule.placement == "v";
  if (is_v && stages != 2 * ranks) {
    return {found, "has " + counted(stages, "stage") + "; a V over " + counted(ranks, "rank") +
                       " has exactly " + std::to_string(2 * ranks)};
  }
  if (stages % ranks == 0) return {};
  return {found, "has " + counted(stages, "stage") + ", no multiple of " +
                     counted(ranks, "pipeline rank")};
}

RuleBreak max_live_chunks(const RuleInput& input) {
  constexpr int kLeast = 2;
  const std::optional<int> limit = input.config.schedule.max_live_chunks;
  if (method_of(input) != "auto" || limit.value_or(kLeast) >= kLeast) return {};
  return {input.request.found("max-live-chunks"),
          "a rank holds both chunks of a micro-batch at once, however they are ordered: the "
          "smallest limit that can be met is 2"};
}

RuleBreak group_size_needs_interleaved(const RuleInput& input) {
  const auto* flag = "microbatch-group-size-per-virtual-pipeline-stage";
  if (!input.request.given(flag) || method_of(input) == "interleaved") return {};
  return {input.request.found(flag) + " with " + method_found(input),
          "only interleaved takes micro-batches in groups: leave it out"};
}

RuleBreak mtp_not_built(const RuleInput& input) {
  const bool by_flag = input.config.model.mtp_num_layers > 0;
  if (!by_flag && !input.facts.layout_has_mtp) return {};
  return {input.request.found(by_flag ? "mtp-num-layers" : "pipeline-model-parallel-layout"),
          "multi-token prediction is known but not built yet; `weft layout`, `weft schedule` and "
          "`weft simulate` have it"};
}

RuleBreak placement_agrees(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (schedule.placement.empty() || schedule.schedules_method.empty()) return {};
  const bool is_v = input.facts.schedule_file.has_value()
                        ? input.facts.schedule_file->is_v
                        : is_v_schedule(schedule.schedules_method);
  if (is_v == (schedule.placement == "v")) return {};
  return {input.request.found("placement") + " with " + method_found(input),
          "this schedule needs --placement " + std::string(is_v ? "v" : "looped")};
}

// Micro-batches that a schedule is built for before those that do not exist are dropped.
std::int64_t least_built(const RuleInput& input) {
  if (input.facts.schedule_file.has_value()) return 1;
  if (is_v_schedule(method_of(input))) return 2 * std::int64_t{ranks_of(input)} - 1;
  return method_of(input) == "interleaved" ? ranks_of(input) : 1;
}

// Lists of cells take memory; no run is near this.
RuleBreak plan_size(const RuleInput& input) {
  constexpr std::int64_t kMaxActions = 20'000'000;
  const std::int64_t asked = num_micro_batches(input.config, input.facts).value_or(1);
  const std::int64_t built = std::max(asked, least_built(input));
  const std::int64_t stages =
      std::int64_t{ranks_of(input)} * chunks_per_rank(input.config, input.facts);
  if (stages <= kMaxActions / (2 * built + 2)) return {};
  const std::string why = built > asked ? " while it is built for " + std::to_string(built) +
                                              " micro-batches, the fewest that " +
                                              method_of(input) + " is defined for"
                                        : "";
  return {input.request.found("pipeline-model-parallel-size") + " and " + std::to_string(asked) +
              (asked == 1 ? " micro-batch" : " micro-batches"),
          "the plan would have over " + std::to_string(kMaxActions) + " actions" + why +
              ": take fewer ranks, chunks or micro-batches"};
}

}  // namespace

std::vector<Rule> schedule_rules() {
  return {
      {"outside-steady-needs-overlap", "overlap", kOwn, "", "overlap-outside-steady moe-fb-overlap",
       outside_steady_needs_overlap},
      {"layout-stages", "layout", kOwn, "", kCutFlags, layout_stages_fit},
      {"mtp-not-built-yet", "layout", kOwn, "", "mtp-num-layers pipeline-model-parallel-layout",
       mtp_not_built, ~verbs(Verb::Layout, Verb::Schedule, Verb::Simulate, Verb::Plan)},
      {"placement-agrees", "layout", kOwn, "", "placement schedules-method", placement_agrees},
      {"no-pipeline-one-rank", "schedule", kOwn, "", kCutFlags, no_pipeline_one_rank, kBuildsPlan},
      {"schedule-chunks", "schedule", kOwn, "", kCutFlags, schedule_chunks, kBuildsPlan},
      {"virtual-flags-exclusive", "schedule", kOwn, "",
       "num-virtual-stages-per-pipeline-rank num-layers-per-virtual-pipeline-stage",
       virtual_flags_exclusive},
      {"virtual-layers-need-layers", "schedule", kOwn, "", kCutFlags, virtual_layers_need_layers},
      {"group-size-needs-interleaved", "schedule", kOwn, "", kCutFlags,
       group_size_needs_interleaved, kBuildsPlan},
      {"max-live-chunks", "schedule", kOwn, "", "max-live-chunks schedules-method", max_live_chunks,
       kBuildsPlan},
      {"plan-size", "schedule", kOwn, "",
       "pipeline-model-parallel-size num-microbatches num-virtual-stages-per-pipeline-rank "
       "schedules-method",
       plan_size},
  };
}

}  // namespace weft
