#include "estimate/model_sizes.h"

#include "config/derive.h"

namespace weft {

ModelSizes model_sizes(const Config& config) {
  const ModelConfig model = with_derived_sizes(config.model);
  ModelSizes sizes;
  sizes.hidden = model.hidden_size;
  sizes.heads = model.num_attention_heads;
  sizes.kv_heads = model.num_query_groups;
  sizes.head_size = model.kv_channels;
  sizes.value_size = sizes.head_size;
  sizes.ffn = model.ffn_hidden_size;
  sizes.experts = model.num_experts;
  sizes.topk = model.moe_router_topk;
  sizes.expert_ffn = model.moe_ffn_hidden_size;
  sizes.shared_ffn = model.moe_shared_expert_intermediate_size;
  sizes.sequence = model.seq_length;
  sizes.vocabulary = model.vocab_size;
  sizes.tied = !model.untie_embeddings_and_output_weights;
  sizes.router_scores =
      model.moe_router_pre_softmax || model.moe_aux_loss_coeff > 0 || model.moe_z_loss_coeff > 0;
  sizes.extras = config.extras;
  if (sizes.extras.kv_lora_rank > 0) {
    sizes.kv_heads = sizes.heads;
    sizes.head_size = sizes.extras.qk_nope_head_dim + sizes.extras.qk_rope_head_dim;
    sizes.value_size = sizes.extras.v_head_dim;
  }
  return sizes;
}

std::vector<LinearSize> attention_products(const ModelSizes& sizes) {
  const ModelExtras& extras = sizes.extras;
  const std::int64_t queries = sizes.heads * sizes.head_size;
  const LinearSize output{sizes.heads * sizes.value_size, sizes.hidden, extras.output_bias};
  if (extras.kv_lora_rank == 0) {
    return {{sizes.hidden, queries + 2 * sizes.kv_heads * sizes.head_size, extras.input_bias},
            output};
  }
  std::vector<LinearSize> products;
  if (extras.q_lora_rank > 0) {
    products.push_back({sizes.hidden, extras.q_lora_rank, extras.input_bias});
    products.push_back({extras.q_lora_rank, queries});
  } else {
    products.push_back({sizes.hidden, queries});
  }
  products.push_back(
      {sizes.hidden, extras.kv_lora_rank + extras.qk_rope_head_dim, extras.input_bias});
  products.push_back(
      {extras.kv_lora_rank, sizes.heads * (extras.qk_nope_head_dim + sizes.value_size)});
  products.push_back(output);
  return products;
}

}  // namespace weft
