#include "config/attention_shape.h"

namespace weft {

AttentionShape attention_shape(const ModelConfig& model, const ModelExtras& extras) {
  AttentionShape shape;
  shape.hidden = model.hidden_size;
  shape.heads = model.num_attention_heads;
  shape.kv_heads = model.num_query_groups;
  shape.head_size = model.kv_channels;
  shape.value_size = shape.head_size;
  shape.extras = extras;
  if (extras.kv_lora_rank > 0) {
    shape.kv_heads = shape.heads;
    shape.head_size = extras.qk_nope_head_dim + extras.qk_rope_head_dim;
    shape.value_size = extras.v_head_dim;
  }
  return shape;
}

std::vector<LinearSize> attention_products(const AttentionShape& shape) {
  const ModelExtras& extras = shape.extras;
  const std::int64_t queries = shape.heads * shape.head_size;
  const LinearSize output{shape.heads * shape.value_size, shape.hidden, extras.output_bias};
  if (extras.kv_lora_rank == 0) {
    return {{shape.hidden, queries + 2 * shape.kv_heads * shape.head_size, extras.input_bias},
            output};
  }
  std::vector<LinearSize> products;
  if (extras.q_lora_rank > 0) {
    products.push_back({shape.hidden, extras.q_lora_rank, extras.input_bias});
    products.push_back({extras.q_lora_rank, queries});
  } else {
    products.push_back({shape.hidden, queries});
  }
  products.push_back(
      {shape.hidden, extras.kv_lora_rank + extras.qk_rope_head_dim, extras.input_bias});
  products.push_back(
      {extras.kv_lora_rank, shape.heads * (extras.qk_nope_head_dim + shape.value_size)});
  products.push_back(output);
  return products;
}

}  // namespace weft
