// The sizes of a model with every default filled in.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace weft {

struct ModelShape {
  std::int64_t hidden = 0;      // H
  std::int64_t heads = 0;       // query heads
  std::int64_t kv_heads = 0;    // query head h uses kv head h / (heads / kv_heads)
  std::int64_t head_size = 0;   // even
  std::int64_t ffn = 0;         // width of a dense feed-forward
  std::int64_t experts = 0;     // E
  std::int64_t topk = 0;        // k
  std::int64_t expert_ffn = 0;  // width of one expert
  std::int64_t shared_ffn = 0;  // width of the shared expert, 0: none
  std::int64_t sequence = 0;    // S
  std::int64_t vocabulary = 0;  // V
  double rotary_base = 0;
  double norm_epsilon = 0;
  bool pre_softmax = false;  // router weights from the softmax over all experts, as they are
  double aux_loss_coeff = 0;
  double z_loss_coeff = 0;
  bool tied = true;  // the head multiplies by the embedding
};

// Throws InternalError for sizes that config's rules refuse.
ModelShape shape_of(const ModelConfig& model);

}  // namespace weft
