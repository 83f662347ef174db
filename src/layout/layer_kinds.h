// Which decoder layers are dense, MoE or do nothing.
#pragma once

#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "layout/layout.h"

namespace weft {

// [num_layers]. Without --num-experts every layer is dense. Layer i is MoE unless
// i < --first-k-dense-replace (at most num_layers) or --moe-layer-freq says otherwise: `N` (i % N
// == 0), or a list of 0 and 1 with an entry per layer in Megatron's form, `[0,1,1]` or
// `([0]*1+[1]*3)*2`. --noop-layers
// (`0,31`) comes last. What is wrong is appended to `violations`, naming the flag; the result then
// means nothing.
std::vector<LayerKind> make_layer_kinds(const ModelConfig& model, int num_layers,
                                        std::vector<Violation>& violations);

}  // namespace weft
