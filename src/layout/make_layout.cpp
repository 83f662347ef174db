#include "layout/make_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "layout/layer_kinds.h"
#include "layout/layout_string.h"

namespace weft {
namespace {

constexpr const char* kLayoutFlag = "--pipeline-model-parallel-layout";
constexpr const char* kVirtualStagesFlag = "--num-virtual-stages-per-pipeline-rank";
constexpr const char* kLayersPerStageFlag = "--num-layers-per-virtual-pipeline-stage";

std::string with_value(const char* flag, int value) {
  return std::string(flag) + " " + std::to_string(value);
}

void require_at_least_one(const char* flag, int value, std::vector<Violation>& violations) {
  if (value >= 1) return;
  violations.push_back({"at-least-one", with_value(flag, value), "has to be 1 or more"});
}

// Virtual pipeline flags exclude a layout string, a V, and each other.
void check_virtual_flags(const ScheduleConfig& schedule, Placement placement,
                         std::vector<Violation>& violations) {
  std::vector<std::string> given;
  if (const auto v = schedule.num_virtual_stages_per_pipeline_rank) {
    require_at_least_one(kVirtualStagesFlag, *v, violations);
    given.push_back(with_value(kVirtualStagesFlag, *v));
  }
  if (const auto n = schedule.num_layers_per_virtual_pipeline_stage) {
    require_at_least_one(kLayersPerStageFlag, *n, violations);
    given.push_back(with_value(kLayersPerStageFlag, *n));
  }
  for (const std::string& flag : given) {
    if (placement == Placement::V) {
      violations.push_back(
          {"v-no-virtual-pipeline", flag, "the V fixes two chunks a rank; leave the flag out"});
    }
    if (!schedule.pipeline_model_parallel_layout.empty()) {
      violations.push_back({"layout-no-virtual-pipeline", flag,
                            std::string(kLayoutFlag) + " says how many stages there are; leave "
                                                       "one of the two out"});
    }
  }
  if (given.size() == 2) {
    violations.push_back({"one-virtual-pipeline-flag", given[0] + " with " + given[1],
                          "both say how many stages there are; leave one out"});
  }
}

int chunks_of_layout_string(const std::string& text, int num_ranks, Placement placement,
                            std::vector<Violation>& violations) {
  const int num_stages = static_cast<int>(parse_layout_string(text).size());
  const std::string found = std::string(kLayoutFlag) + " with " + counted(num_stages, "stage");
  if (placement == Placement::V && num_stages != 2 * num_ranks) {
    violations.push_back({"layout-v-stages", found,
                          "a V on " + counted(num_ranks, "pipeline rank") + " has exactly " +
                              std::to_string(2 * num_ranks)});
  } else if (num_stages % num_ranks != 0) {
    violations.push_back(
        {"layout-stages-divide", found,
         "has to be a multiple of --pipeline-model-parallel-size, " + std::to_string(num_ranks)});
  }
  return std::max(1, num_stages / num_ranks);
}

int chunks_per_rank(const Config& config, Placement placement, std::vector<Violation>& violations) {
  const ScheduleConfig& schedule = config.schedule;
  const int num_ranks = config.parallel.pipeline_model_parallel_size;
  if (!schedule.pipeline_model_parallel_layout.empty()) {
    return chunks_of_layout_string(schedule.pipeline_model_parallel_layout, num_ranks, placement,
                                   violations);
  }
  if (placement == Placement::V) return 2;
  if (const auto v = schedule.num_virtual_stages_per_pipeline_rank) return *v;
  const auto layers_per_stage = schedule.num_layers_per_virtual_pipeline_stage;
  if (!layers_per_stage) return 1;
  if (!config.model.num_layers) {
    violations.push_back({"layers-per-stage-needs-layers",
                          with_value(kLayersPerStageFlag, *layers_per_stage),
                          "how many stages that makes depends on --num-layers, which is missing"});
    return 1;
  }
  const std::int64_t per_round = std::int64_t{*layers_per_stage} * num_ranks;
  return static_cast<int>(
      std::max<std::int64_t>(1, (*config.model.num_layers + per_round - 1) / per_round));
}

std::vector<StageLayers> stages_of(const std::vector<int>& counts, int mtp_layers) {
  std::vector<StageLayers> stages(counts.size());
  int layer = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    for (int i = 0; i < counts[s]; ++i) stages[s].decoder_layers.push_back(layer++);
  }
  for (int i = 0; i < mtp_layers; ++i) stages.back().mtp_layers.push_back(i);
  stages.front().embedding = true;
  stages.back().loss = true;
  return stages;
}

// The stages that a flag for one end fixes together: all of the rank, under a V the stage alone.
std::vector<int> stages_of_end(const StageMap& map, bool first) {
  if (map.placement == Placement::V) return {first ? 0 : map.num_stages() - 1};
  std::vector<int> stages;
  const Rank rank(first ? 0 : map.num_ranks - 1);
  for (int chunk = 0; chunk < map.chunks_per_rank; ++chunk) {
    stages.push_back(map.stage_of(rank, Chunk(chunk)).value);
  }
  return stages;
}

// What is wrong with the sizes of the ends; empty: nothing.
std::string end_sizes_fault(const Config& config, const StageMap& map, std::int64_t left,
                            bool all_fixed) {
  if (!config.model.num_layers) return "the other ranks share the rest of --num-layers: add it";
  const std::string layers = with_value("--num-layers", *config.model.num_layers);
  if (map.num_stages() == 1 || (map.num_ranks == 1 && map.placement != Placement::V)) {
    return "one pipeline rank holds all layers: leave it out";
  }
  if (config.schedule.num_layers_per_virtual_pipeline_stage) {
    return "--num-layers-per-virtual-pipeline-stage fixes every stage: leave one of them out";
  }
  if (left < 0) return layers + " are fewer";
  if (left > 0 && all_fixed) return "has to make up " + layers + ": no other stage takes the rest";
  return "";
}

// Stages that share a number of layers among them.
struct Share {
  std::vector<int> stages;
  int layers = 0;

  bool divides() const { return layers % static_cast<int>(stages.size()) == 0; }
};

std::string spread_text(const Share& share, int all_stages) {
  const auto stages = static_cast<int>(share.stages.size());
  const int least = share.layers / stages;
  const bool one = share.layers == 1;
  return counted(share.layers, "decoder layer") + (one ? " does" : " do") + " not divide by " +
         (stages == all_stages ? counted(stages, "stage")
                               : "the " + counted(stages, "stage") + " that share them") +
         (one ? " and is" : " and are") + " spread, " + std::to_string(least) + " or " +
         std::to_string(least + 1) + " each";
}

// --decoder-first-pipeline-num-layers and -last- fix what the ends share; the other stages share
// the rest.
std::vector<Share> shares_of(const Config& config, const StageMap& map,
                             std::vector<Violation>& violations) {
  const int num_layers = config.model.num_layers.value_or(map.num_stages());
  std::vector<int> free(static_cast<std::size_t>(map.num_stages()));
  std::iota(free.begin(), free.end(), 0);
  const std::vector<Share> one = {{free, num_layers}};

  std::vector<Share> shares;
  std::string found;
  std::int64_t left = num_layers;
  const auto fix = [&](const char* flag, bool is_first, std::optional<int> layers) {
    if (!layers) return;
    const std::vector<int> stages = stages_of_end(map, is_first);
    for (const int stage : stages) std::erase(free, stage);
    shares.push_back({stages, *layers});
    left -= *layers;
    found += (found.empty() ? "" : " and ") + with_value(flag, *layers);
  };
  fix("--decoder-first-pipeline-num-layers", true,
      config.schedule.decoder_first_pipeline_num_layers);
  fix("--decoder-last-pipeline-num-layers", false,
      config.schedule.decoder_last_pipeline_num_layers);
  if (shares.empty()) return one;
  const std::string fault = end_sizes_fault(config, map, left, free.empty());
  if (!fault.empty()) {
    violations.push_back({"end-stage-sizes", found, fault});
    return one;
  }
  if (!free.empty()) shares.push_back({free, static_cast<int>(left)});
  return shares;
}

// Decoder layers per stage.
std::vector<int> layers_of_stages(const Config& config, const StageMap& map,
                                  std::vector<Violation>& violations) {
  std::vector<int> counts(static_cast<std::size_t>(map.num_stages()));
  for (const Share& share : shares_of(config, map, violations)) {
    const std::vector<int> split =
        split_layers(share.layers, static_cast<int>(share.stages.size()));
    for (std::size_t i = 0; i < split.size(); ++i) {
      counts[static_cast<std::size_t>(share.stages[i])] = split[i];
    }
  }
  return counts;
}

int count_layers(const std::vector<StageLayers>& stages,
                 std::vector<int> StageLayers::* layers_of_stage) {
  int count = 0;
  for (const StageLayers& stage : stages) {
    count += static_cast<int>((stage.*layers_of_stage).size());
  }
  return count;
}

// A string given alone says how many layers there are; beside --num-layers it has to agree with it
// and with --mtp-num-layers.
void check_counts(const ModelConfig& model, const std::vector<StageLayers>& stages,
                  std::vector<Violation>& violations) {
  const int decoder = count_layers(stages, &StageLayers::decoder_layers);
  const int mtp = count_layers(stages, &StageLayers::mtp_layers);
  if (model.num_layers && *model.num_layers != decoder) {
    violations.push_back(
        {"layout-num-layers",
         std::string(kLayoutFlag) + " with " + counted(decoder, "decoder layer"),
         "--num-layers says " + std::to_string(*model.num_layers) + "; noop layers count too"});
  }
  const bool says_mtp = model.num_layers.has_value() || model.mtp_num_layers > 0;
  if (says_mtp && model.mtp_num_layers != mtp) {
    violations.push_back({"layout-mtp-num-layers",
                          std::string(kLayoutFlag) + " with " + counted(mtp, "MTP layer"),
                          "--mtp-num-layers says " + std::to_string(model.mtp_num_layers)});
  }
}

}  // namespace

StageMap make_stage_map(const Config& config, Placement placement) {
  std::vector<Violation> violations;
  const int num_ranks = config.parallel.pipeline_model_parallel_size;
  require_at_least_one("--pipeline-model-parallel-size", num_ranks, violations);
  check_virtual_flags(config.schedule, placement, violations);
  if (!violations.empty()) throw UserError(std::move(violations));
  const int chunks = chunks_per_rank(config, placement, violations);
  if (!violations.empty()) throw UserError(std::move(violations));
  return {num_ranks, chunks, placement};
}

StageMap make_stage_map(const Config& config, const RunFacts& facts) {
  if (const auto& file = facts.schedule_file) {
    return {file->num_ranks, file->chunks_per_rank, file->is_v ? Placement::V : Placement::Looped};
  }
  return make_stage_map(config, lies_as_v(config, facts) ? Placement::V : Placement::Looped);
}

Layout make_layout(const Config& config, const StageMap& map) {
  const ModelConfig& model = config.model;
  std::vector<Violation> violations;
  if (model.num_layers) require_at_least_one("--num-layers", *model.num_layers, violations);
  if (model.mtp_num_layers < 0) {
    violations.push_back({"mtp-num-layers", with_value("--mtp-num-layers", model.mtp_num_layers),
                          "has to be 0 or more"});
  }
  if (!violations.empty()) throw UserError(std::move(violations));

  Layout layout{map, {}, {}, false};
  const std::string& text = config.schedule.pipeline_model_parallel_layout;
  if (text.empty()) {
    layout.stages = stages_of(layers_of_stages(config, map, violations), model.mtp_num_layers);
  } else {
    layout.stages = parse_layout_string(text);
    chunks_of_layout_string(text, map.num_ranks, map.placement, violations);
    if (violations.empty() && static_cast<int>(layout.stages.size()) != map.num_stages()) {
      violations.push_back({"layout-schedule-stages",
                            std::string(kLayoutFlag) + " with " +
                                counted(static_cast<std::int64_t>(layout.stages.size()), "stage"),
                            "the schedule has " + std::to_string(map.num_stages())});
    }
    check_counts(model, layout.stages, violations);
  }
  layout.layer_kinds = make_layer_kinds(
      model, count_layers(layout.stages, &StageLayers::decoder_layers), violations);
  layout.shared_expert = model.num_experts > 0 && model.moe_shared_expert_intermediate_size > 0;
  if (!violations.empty()) throw UserError(std::move(violations));
  return layout;
}

std::optional<std::string> uneven_note(const Config& config, const Layout& layout) {
  if (!config.schedule.pipeline_model_parallel_layout.empty()) return std::nullopt;
  std::vector<Violation> none;
  std::string note;
  for (const Share& share : shares_of(config, layout.map, none)) {
    if (!share.divides()) {
      note += (note.empty() ? "" : ", ") + spread_text(share, layout.map.num_stages());
    }
  }
  if (note.empty()) return std::nullopt;
  constexpr std::size_t kShown = 60;
  const std::string text = print_layout_string(layout.stages);
  return note + (text.size() > kShown ? "; `weft layout` shows where" : ": " + text);
}

std::vector<int> split_layers(int num_layers, int num_stages) {
  weft_assert(num_layers >= 0 && num_stages >= 1, "layers to split and stages to hold them");
  std::vector<int> counts(num_stages, num_layers / num_stages);
  int left = num_layers % num_stages;
  for (int s = num_stages - 2; s >= 1 && left > 0; --s, --left) ++counts[s];
  // Fewer are left than stages, so at most the first one is still to be served.
  if (left > 0) ++counts.front();
  return counts;
}

}  // namespace weft
