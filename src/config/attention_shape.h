// The sizes of attention and the products with weights that it is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "config/config.h"

namespace weft {

// A product with a weight [out, in].
struct LinearSize {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;

  std::int64_t parameters() const { return out * in + (bias ? out : 0); }
};

struct AttentionShape {
  std::int64_t hidden = 0;      // H
  std::int64_t heads = 0;       // query heads
  std::int64_t kv_heads = 0;    // as heads under latent attention
  std::int64_t head_size = 0;   // of a query and key
  std::int64_t value_size = 0;  // of a head's value
  ModelExtras extras;
};

// Takes a model with derived sizes filled in (config/derive.h).
AttentionShape attention_shape(const ModelConfig& model, const ModelExtras& extras);

// The products of attention, in the order in which they run. Grouped queries (arXiv 2305.13245): q,
// k and v as one, and o. Latent attention (arXiv 2405.04434, section 2.1): q in one or two, down
// and up for keys and values, o.
std::vector<LinearSize> attention_products(const AttentionShape& shape);

}  // namespace weft
