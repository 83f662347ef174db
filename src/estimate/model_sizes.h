// The sizes that everything countable about a model follows from, every default filled in.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "layout/layout.h"

namespace weft {

// A product with a weight [out, in].
struct LinearSize {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;

  std::int64_t parameters() const { return out * in + (bias ? out : 0); }
};

struct ModelSizes {
  std::int64_t hidden = 0;      // H
  std::int64_t heads = 0;       // query heads
  std::int64_t kv_heads = 0;    // as heads under latent attention
  std::int64_t head_size = 0;   // of a query and key
  std::int64_t value_size = 0;  // of a head's value
  std::int64_t ffn = 0;         // width of a dense feed-forward
  std::int64_t experts = 0;     // E
  std::int64_t topk = 0;        // k
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;  // 0: no shared expert
  std::int64_t sequence = 0;    // S
  std::int64_t vocabulary = 0;  // V
  bool tied = true;             // the head multiplies by the embedding
  bool router_scores = false;   // the softmax over all experts is kept for the backward
  ModelExtras extras;
};

// Takes a config that has passed the rules: hidden size, heads, sequence and vocabulary are given.
ModelSizes model_sizes(const Config& config);

// The products of attention, in the order in which they run. Grouped queries (arXiv 2305.13245): q,
// k and v as one, and o. Latent attention (arXiv 2405.04434, section 2.1): q in one or two, down
// and up for keys and values, o.
std::vector<LinearSize> attention_products(const ModelSizes& sizes);

}  // namespace weft
