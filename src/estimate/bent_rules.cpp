#include "estimate/bent_rules.h"

#include <algorithm>
#include <iterator>

#include "base/names.h"
#include "config/derive.h"
#include "config/rules.h"

namespace weft {
namespace {

struct Run {
  const Request& request;
  const Config& config;
  const Layout& layout;

  int ranks() const { return layout.map.num_ranks; }
  int layers() const { return static_cast<int>(layout.layer_kinds.size()); }
  int micro_batches() const { return config.schedule.num_microbatches.value_or(1); }
  bool dualpipev() const { return config.schedule.schedules_method == "dualpipev"; }
  bool overlap() const { return config.schedule.moe_fb_overlap; }
  bool layout_string() const { return !config.schedule.pipeline_model_parallel_layout.empty(); }
  // As the original has it: several chunks a rank, not as a V.
  bool virtual_pipeline() const {
    return layout.map.chunks_per_rank > 1 && layout.map.placement == Placement::Looped;
  }
};

// What bends the rule; empty: nothing. Each is named as in the table of rules.
struct Sight {
  std::string_view rule;
  std::string (*found)(const Run&);
};

std::string one_rank(const Run& run) {
  return run.dualpipev() && run.ranks() == 1 ? "one pipeline rank" : "";
}

std::string layers(const Run& run) {
  const bool bends = run.dualpipev() && run.layers() % (2 * run.ranks()) != 0;
  return bends ? counted(run.layers(), "layer") + " on " + counted(2 * run.ranks(), "stage") : "";
}

std::string micro_batches(const Run& run) {
  const bool bends = run.dualpipev() && run.micro_batches() < 2 * run.ranks() - 1;
  return bends ? counted(run.micro_batches(), "micro-batch") +
                     " with P = " + std::to_string(run.ranks())
               : "";
}

std::string untied(const Run& run) {
  const bool tied = !run.config.model.untie_embeddings_and_output_weights;
  return run.dualpipev() && tied ? "tied embeddings" : "";
}

std::string layout_string(const Run& run) {
  return run.dualpipev() && run.layout_string()
             ? run.request.found("pipeline-model-parallel-layout")
             : "";
}

std::string v_grad_reduce(const Run& run) {
  return run.dualpipev() && run.config.schedule.overlap_grad_reduce ? "--overlap-grad-reduce" : "";
}

std::string grouped_gemm(const Run& run) {
  return run.overlap() && !run.request.given("moe-grouped-gemm") ? "--moe-grouped-gemm not given"
                                                                 : "";
}

std::string expert_ranks(const Run& run) {
  const bool one = run.config.parallel.expert_model_parallel_size == 1;
  return run.overlap() && one ? "one expert parallel rank" : "";
}

std::string virtual_micro_batches(const Run& run) {
  const bool bends =
      run.overlap() && run.virtual_pipeline() && run.micro_batches() < 2 * run.ranks();
  return bends ? counted(run.micro_batches(), "micro-batch") +
                     " with P = " + std::to_string(run.ranks())
               : "";
}

std::string noop_layers(const Run& run) {
  if (!run.overlap() || !run.virtual_pipeline()) return "";
  const int last_stage = run.layers() - run.layers() / run.layout.map.num_stages();
  const auto first = std::ranges::find(run.layout.layer_kinds, LayerKind::Noop);
  const auto index = static_cast<int>(first - run.layout.layer_kinds.begin());
  return index < last_stage ? "noop layer " + std::to_string(index) : "";
}

std::string layout_noop_layers(const Run& run) {
  const bool noop = !run.config.model.noop_layers.empty();
  return run.layout_string() && noop ? run.request.found("noop-layers") : "";
}

std::string empty_chunks(const Run& run) {
  if (!run.overlap() || !run.layout_string()) return "";
  const auto empty = std::ranges::find_if(
      run.layout.stages, [](const StageLayers& stage) { return stage.decoder_layers.empty(); });
  if (empty == run.layout.stages.end()) return "";
  return "stage " + std::to_string(empty - run.layout.stages.begin()) + " has no decoder layer";
}

std::string overlap_grad_reduce(const Run& run) {
  return run.overlap() && run.config.schedule.overlap_grad_reduce ? "--overlap-grad-reduce" : "";
}

// On the first rank, in a chunk other than the last, or spread over stages.
std::string mtp_place(const Run& run) {
  const std::vector<StageLayers>& stages = run.layout.stages;
  const auto has_mtp = [](const StageLayers& stage) { return !stage.mtp_layers.empty(); };
  const auto first = std::ranges::find_if(stages, has_mtp);
  if (!run.layout_string() || first == stages.end()) return "";
  if (std::count_if(stages.begin(), stages.end(), has_mtp) > 1) return "MTP layers in two stages";
  const Stage stage(static_cast<int>(first - stages.begin()));
  const StageMap& map = run.layout.map;
  const bool last_chunk = map.chunk_of(stage).value == map.chunks_per_rank - 1;
  const bool first_rank = map.num_ranks > 1 && map.rank_of(stage) == Rank(0);
  return last_chunk && !first_rank ? "" : "MTP layers in stage " + std::to_string(stage.value);
}

constexpr Sight kSights[] = {{"dualpipev-one-rank", one_rank},
                             {"dualpipev-layers", layers},
                             {"dualpipev-micro-batches", micro_batches},
                             {"dualpipev-untied-embeddings", untied},
                             {"dualpipev-layout", layout_string},
                             {"dualpipev-grad-reduce", v_grad_reduce},
                             {"overlap-grouped-gemm", grouped_gemm},
                             {"overlap-expert-ranks", expert_ranks},
                             {"overlap-micro-batches", virtual_micro_batches},
                             {"overlap-noop-layers", noop_layers},
                             {"layout-noop-layers", layout_noop_layers},
                             {"overlap-empty-chunks", empty_chunks},
                             {"overlap-grad-reduce", overlap_grad_reduce},
                             {"layout-mtp-place", mtp_place}};

}  // namespace

std::vector<BentRule> bent_rules(const Request& request, const Config& config,
                                 const Layout& layout) {
  const Run run{request, config, layout};
  std::vector<BentRule> bent;
  for (const Rule& rule : rule_table()) {
    const auto sight = std::ranges::find(kSights, rule.name, &Sight::rule);
    if (rule.verdict != Verdict::Lifted || sight == std::end(kSights)) continue;
    std::string found = sight->found(run);
    if (found.empty()) continue;
    bent.push_back({std::string(rule.name), std::string(rule.feature), std::move(found),
                    std::string(rule.original), std::string(rule.weft)});
  }
  return bent;
}

std::vector<std::string_view> lifted_rule_names() {
  std::vector<std::string_view> names;
  for (const Sight& sight : kSights) names.push_back(sight.rule);
  return names;
}

}  // namespace weft
