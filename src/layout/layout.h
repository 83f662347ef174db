// Which stage holds which layers.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "layout/stage_map.h"

namespace weft {

enum class LayerKind { Dense, Moe, Noop };

// What one stage holds. Layers are numbered from 0 along the model, noop layers included.
struct StageLayers {
  bool embedding = false;
  std::vector<int> decoder_layers;
  std::vector<int> mtp_layers;
  bool loss = false;

  bool operator==(const StageLayers&) const = default;
};

struct Layout {
  StageMap map;
  std::vector<StageLayers> stages;     // [num_stages], in forward order
  std::vector<LayerKind> layer_kinds;  // [num_layers]
  bool shared_expert = false;          // every MoE layer has a shared expert beside its experts

  bool operator==(const Layout&) const = default;
};

// Segments, wires and buckets number MTP layers on behind the decoder layers, as published weights
// do.
int num_mtp_layers(const Layout& layout);
int number_of_mtp_layer(const Layout& layout, int mtp_layer);
// Of a decoder or MTP layer. MTP layers are as the last decoder layer that does anything, as in
// Megatron; dense where there is none.
LayerKind kind_of_layer(const Layout& layout, int layer);
// [num_stages] Hidden states that each stage hands to the next one, as one message: the model's
// own, and one of each MTP layer so far, which its head takes where the loss is.
std::vector<int> hidden_states_behind(const Layout& layout);

// `Ett`, `ttt`, `tmL`: the text of one stage in a layout string.
std::string stage_text(const StageLayers& stage);

}  // namespace weft
