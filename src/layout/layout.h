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

// The same without MTP layers, which have no segments yet.
Layout without_mtp(Layout layout);

// `Ett`, `ttt`, `tmL`: the text of one stage in a layout string.
std::string stage_text(const StageLayers& stage);

}  // namespace weft
