// A second, plain implementation of the model: LibTorch's ordinary autograd, one process, one
// micro-batch after the other, in double, weights by name. Shares no code with src/model; tests
// compare the engine with it.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "layout/layout.h"

namespace weft::testing {

using Weights = std::map<std::string, at::Tensor>;

struct PlainBatch {
  at::Tensor tokens;  // [B, S] int64
  at::Tensor labels;  // [B, S] int64, -100 is not counted
};

struct PlainResult {
  double loss = 0;      // mean cross entropy over all counted labels
  double aux_loss = 0;  // as cli.md defines it: summed over layers, mean over the batches
  Weights gradients;    // of loss + aux_loss, by name; zeros where nothing came
};

// `batches` are all micro-batches of all data parallel ranks, in any order. `layer_kinds` has one
// entry per decoder layer. Weights are converted to double; with tied embeddings there is no
// lm_head.weight.
PlainResult plain_model(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                        const Weights& weights, const std::vector<PlainBatch>& batches);

// Loss + aux loss alone, without gradients: for central differences.
double plain_objective(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                       const Weights& weights, const std::vector<PlainBatch>& batches);

// Every weight of the model, normal with the given deviation around 0 (norms around 1), in double.
Weights random_weights(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                       std::uint64_t seed, double deviation);

}  // namespace weft::testing
