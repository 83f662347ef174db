#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "layout/make_layout.h"

namespace weft {
namespace {

Placement placement_of(const Config& config, const RunFacts& facts) {
  return lies_as_v(config, facts) ? Placement::V : Placement::Looped;
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
                      {"mtp_layers", stage.mtp_layers},
                      {"loss", stage.loss}});
  }
  return nlohmann::ordered_json{{"stages", stages}}.dump(1) + "\n";
}

std::string numbers(const std::vector<int>& layers) {
  std::string text;
  for (const int layer : layers) text += (text.empty() ? "" : ",") + std::to_string(layer);
  return text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string layout_text(const Layout& layout) {
  std::size_t width = 5;
  for (const StageLayers& stage : layout.stages) {
    width = std::max(width, stage_text(stage).size() + 1);
  }
  std::string text = "stage rank  chunk " + padded("text", width) + "layers\n";
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    const StageLayers& stage = layout.stages.at(static_cast<std::size_t>(s));
    text += padded(std::to_string(s), 6) +
            padded(std::to_string(layout.map.rank_of(Stage(s)).value), 6) +
            padded(std::to_string(layout.map.chunk_of(Stage(s)).value), 6) +
            padded(stage_text(stage), width) + numbers(stage.decoder_layers) + "\n";
  }
  return text;
}

}  // namespace

void run_layout(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const Layout layout = make_layout(config, make_stage_map(config, placement_of(config, facts)));
  if (const auto note = uneven_note(config, layout)) log_info(*note);
  const bool json = format_of(config.output, "json") == "json";
  write_result(config.output, json ? layout_json(layout) : layout_text(layout));
}

}  // namespace weft
