// The sizes that everything countable about a model follows from, every default filled in.
#pragma once

#include <cstdint>

#include "config/attention_shape.h"
#include "layout/layout.h"

namespace weft {

struct ModelSizes : AttentionShape {
  std::int64_t ffn = 0;      // width of a dense feed-forward
  std::int64_t experts = 0;  // E
  std::int64_t topk = 0;     // k
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;  // 0: no shared expert
  std::int64_t sequence = 0;    // S
  std::int64_t vocabulary = 0;  // V
  bool tied = true;             // the head multiplies by the embedding
  bool router_scores = false;   // the softmax over all experts is kept for the backward
};

// Takes a config that has passed the rules: hidden size, heads, sequence and vocabulary are given.
ModelSizes model_sizes(const Config& config);

}  // namespace weft
