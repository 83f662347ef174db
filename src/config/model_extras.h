// Parts of published models that `weft plan` counts and that training does not have yet.
#pragma once

#include <string>
#include <vector>

namespace weft {

// Normalisation of queries and keys before the rotation.
enum class QueryKeyNorm {
  None,
  PerHead,  // one weight of a head's size each, for all heads
  Whole,    // over the whole projection
};

struct ModelExtras {
  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) where kv_lora_rank is
  // above 0: a head's query and key are [nope, rope], one rope key serves all heads.
  int q_lora_rank = 0;  // 0: queries by one projection
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;
  int v_head_dim = 0;

  QueryKeyNorm query_key_norm = QueryKeyNorm::None;
  bool input_bias = false;   // of q, k, v; of q_a and kv_a under latent attention
  bool output_bias = false;  // of o
  bool shared_expert_gate = false;

  std::vector<std::string> untrained;  // what training does not have, in words; empty: nothing

  bool operator==(const ModelExtras&) const = default;
};

}  // namespace weft
