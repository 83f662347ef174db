// How many parameters a model has, and where they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/model_sizes.h"
#include "layout/layout.h"

namespace weft {

struct ParameterCount {
  std::int64_t embedding = 0;
  std::int64_t attention = 0;
  std::int64_t dense_ffn = 0;
  std::int64_t router = 0;
  std::int64_t experts = 0;
  std::int64_t shared_expert = 0;  // its gate too
  std::int64_t norms = 0;
  std::int64_t head = 0;  // the output matrix
  std::int64_t mtp = 0;   // MTP layers as a whole, experts apart
  std::int64_t mtp_experts = 0;
  // No parameters, but gradients of their own: of matrices that MTP layers share with others of
  // this rank. A shared weight has a gradient for each of its places, summed at the end of a step.
  std::int64_t shared_gradients = 0;

  std::int64_t all_experts() const { return experts + mtp_experts; }
  // What every data parallel rank holds: all but experts.
  std::int64_t replicated() const {
    return embedding + attention + dense_ffn + router + shared_expert + norms + head + mtp;
  }
  std::int64_t total() const { return replicated() + all_experts(); }
  std::int64_t replicated_gradients() const { return replicated() + shared_gradients; }
  std::int64_t gradients() const { return total() + shared_gradients; }

  ParameterCount& operator+=(const ParameterCount& other);
  bool operator==(const ParameterCount&) const = default;
};

// One decoder layer with `held_experts` of its experts. A noop layer has none.
ParameterCount count_layer(const ModelSizes& sizes, LayerKind kind, std::int64_t held_experts);

// The unsharded model: each parameter once, a tied matrix too.
ParameterCount count_model(const ModelSizes& sizes, const Layout& layout);

// Those that one token meets: of a layer's experts `topk`. Embedding and head count.
ParameterCount count_active(const ModelSizes& sizes, const Layout& layout);

// What a rank holds of the bucket whose gradients are summed together (passes/chains.h): a layer,
// with -1 the stage's embedding, final norm and head. The norm of an MTP layer that its head begins
// with lies where the loss is.
ParameterCount count_bucket(const ModelSizes& sizes, const Layout& layout, Stage stage, int layer,
                            int expert_ranks);

// What a rank of the stage allocates: its share of the experts; with tied embeddings a matrix at
// each end of the model, wherever they lie. An MTP layer takes the embedding's matrix from the
// first stage, with tied embeddings from the last, if that is on its rank, else from an MTP layer
// before it there, else it has a copy. The head's matrix it takes where the loss is.
ParameterCount count_stage(const ModelSizes& sizes, const Layout& layout, Stage stage,
                           int expert_ranks);
ParameterCount count_rank(const ModelSizes& sizes, const Layout& layout, Rank rank,
                          int expert_ranks);

// Pipeline ranks with a copy of the embedding's matrix, ascending; their gradients of it are summed
// at the end of a step.
std::vector<int> embedding_ranks(const Layout& layout, bool tied);
// How many gradients of it a rank has.
int embedding_places(const Layout& layout, bool tied, Rank rank);

}  // namespace weft
