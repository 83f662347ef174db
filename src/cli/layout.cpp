#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/verbs.h"
#include "layout/make_layout.h"
#include "timeline/table.h"

namespace weft {
namespace {

constexpr std::size_t kLongestText = 24;
constexpr std::size_t kAllLeft = 99;

// The stage's decoder layers of one kind.
std::vector<int> layers_of(const Layout& layout, const StageLayers& stage, LayerKind kind) {
  std::vector<int> layers;
  for (const int layer : stage.decoder_layers) {
    if (layout.layer_kinds.at(static_cast<std::size_t>(layer)) == kind) layers.push_back(layer);
  }
  return layers;
}

std::string layout_json(const Layout& layout) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    const StageLayers& stage = layout.stages.at(static_cast<std::size_t>(s));
    stages.push_back({{"stage", s},
                      {"rank", layout.map.rank_of(Stage(s)).value},
                      {"chunk", layout.map.chunk_of(Stage(s)).value},
                      {"text", stage_text(stage)},
                      {"embedding", stage.embedding},
                      {"decoder_layers", stage.decoder_layers},
                      {"dense_layers", layers_of(layout, stage, LayerKind::Dense)},
                      {"moe_layers", layers_of(layout, stage, LayerKind::Moe)},
                      {"noop_layers", layers_of(layout, stage, LayerKind::Noop)},
                      {"mtp_layers", stage.mtp_layers},
                      {"loss", stage.loss}});
  }
  return nlohmann::ordered_json{{"stages", stages}}.dump(1) + "\n";
}

// `0-3, 7`; without any `-`.
std::string numbers(const std::vector<int>& layers) {
  std::string text;
  for (std::size_t first = 0; first < layers.size();) {
    std::size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[first]);
    if (last > first) text += "-" + std::to_string(layers[last]);
    first = last + 1;
  }
  return text.empty() ? "-" : text;
}

// `Ett`; of many layers `Et*61L`, which a layout string may hold too.
std::string short_stage_text(const StageLayers& stage) {
  const std::string text = stage_text(stage);
  if (text.size() <= kLongestText) return text;
  const auto repeated = [](char layer, std::size_t count) {
    return count < 2 ? std::string(count, layer) : layer + ("*" + std::to_string(count));
  };
  return (stage.embedding ? "E" : "") + repeated('t', stage.decoder_layers.size()) +
         repeated('m', stage.mtp_layers.size()) + (stage.loss ? "L" : "");
}

// A column for each kind of layer that the model has.
std::string layout_text(const Layout& layout, int width) {
  Table table{"", "", {"stage", "rank", "chunk", "text"}, {}, kAllLeft};
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    table.rows.push_back({std::to_string(s), std::to_string(layout.map.rank_of(Stage(s)).value),
                          std::to_string(layout.map.chunk_of(Stage(s)).value),
                          short_stage_text(layout.stages.at(static_cast<std::size_t>(s)))});
  }
  const auto add = [&](const char* heading, const auto& layers_of_stage) {
    const auto has_any = [&](const StageLayers& s) { return !layers_of_stage(s).empty(); };
    if (std::ranges::none_of(layout.stages, has_any)) return;
    table.columns.emplace_back(heading);
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
      table.rows[s].push_back(numbers(layers_of_stage(layout.stages[s])));
    }
  };
  const auto of_kind = [&](LayerKind kind) {
    return [&layout, kind](const StageLayers& stage) { return layers_of(layout, stage, kind); };
  };
  add("dense", of_kind(LayerKind::Dense));
  add("MoE", of_kind(LayerKind::Moe));
  add("noop", of_kind(LayerKind::Noop));
  add("MTP", [](const StageLayers& stage) { return stage.mtp_layers; });
  return print_table(table, width);
}

}  // namespace

void run_layout(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const Layout layout = make_layout(config, make_stage_map(config, facts));
  const bool json = format_of(config.output, "json") == "json";
  write_result(config.output,
               json ? layout_json(layout) : layout_text(layout, terminal_width(config.output)));
}

}  // namespace weft
