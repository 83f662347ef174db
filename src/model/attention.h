// Grouped-query attention with rotary positions (arXiv 2305.13245, 2104.09864).
#pragma once

#include "model/model_shape.h"
#include "model/parameters.h"
#include "model/recorded_op.h"

namespace weft {

// Cosine and sine of position * base^(-2i / head_size), in the main type, for the "halves"
// convention: dimension i of a head turns with i + head_size / 2.
struct RotaryTable {
  at::Tensor cosine;  // [S, 1, head_size / 2]
  at::Tensor sine;
};

RotaryTable rotary_table(std::int64_t sequence, std::int64_t head_size, double base,
                         const at::TensorOptions& options);

struct AttentionWeights {
  const Parameter& qkv;
  const Parameter& output;
};

// residual + causal self-attention of x [T, H], T = B * S in row-major order; S is the table's.
at::Tensor attention(const at::Tensor& x, const at::Tensor& residual,
                     const AttentionWeights& weights, const RotaryTable& table,
                     const ModelShape& shape, const PutOff& put_off);

}  // namespace weft
