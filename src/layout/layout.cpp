#include "layout/layout.h"

#include <algorithm>

namespace weft {

int num_mtp_layers(const Layout& layout) {
  std::size_t count = 0;
  for (const StageLayers& stage : layout.stages) count += stage.mtp_layers.size();
  return static_cast<int>(count);
}

int number_of_mtp_layer(const Layout& layout, int mtp_layer) {
  return static_cast<int>(layout.layer_kinds.size()) + mtp_layer;
}

LayerKind kind_of_layer(const Layout& layout, int layer) {
  const std::vector<LayerKind>& kinds = layout.layer_kinds;
  if (layer < static_cast<int>(kinds.size())) return kinds.at(static_cast<std::size_t>(layer));
  const auto last = std::find_if(kinds.rbegin(), kinds.rend(),
                                 [](LayerKind kind) { return kind != LayerKind::Noop; });
  return last == kinds.rend() ? LayerKind::Dense : *last;
}

std::vector<int> hidden_states_behind(const Layout& layout) {
  std::vector<int> states(static_cast<std::size_t>(layout.map.num_stages()), 1);
  int count = 1;
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    count += static_cast<int>(layout.stages[s].mtp_layers.size());
    states.at(s) = count;
  }
  return states;
}

std::string stage_text(const StageLayers& stage) {
  std::string text;
  if (stage.embedding) text += 'E';
  text.append(stage.decoder_layers.size(), 't');
  text.append(stage.mtp_layers.size(), 'm');
  if (stage.loss) text += 'L';
  return text;
}

}  // namespace weft
