// From flags to which stage holds which layers.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "layout/layout.h"

namespace weft {

// P from the config; chunks per rank: 2 under V, else as --pipeline-model-parallel-layout,
// --num-virtual-stages-per-pipeline-rank or --num-layers-per-virtual-pipeline-stage say, else 1.
// Throws UserError naming the flag.
StageMap make_stage_map(const Config& config, Placement placement);

// The layout string if there is one, else --num-layers spread over the stages: where they do not
// divide, the last stages but the one with the loss hold one more, then the first, the last one at
// the end. Without both, one layer a stage. MTP layers sit with the loss. Throws UserError with all
// that is wrong, naming the flags.
Layout make_layout(const Config& config, const StageMap& map);

// Decoder layers per stage of the uniform split. Sums to num_layers.
std::vector<int> split_layers(int num_layers, int num_stages);

// [num_layers] from --num-experts, --first-k-dense-replace, --moe-layer-freq (`2`, `[0,1,1]`,
// `([0]*1+[1]*3)*2`) and --noop-layers. Throws UserError naming the flag.
std::vector<LayerKind> make_layer_kinds(const ModelConfig& model, int num_layers);

}  // namespace weft
