#include "model/model_shape.h"

#include "base/error.h"
#include "config/derive.h"

namespace weft {

ModelShape shape_of(const ModelConfig& given) {
  const ModelConfig model = with_derived_sizes(given);
  weft_assert(model.hidden_size > 0 && model.num_attention_heads > 0, "sizes are positive");
  ModelShape shape;
  shape.hidden = model.hidden_size;
  shape.heads = model.num_attention_heads;
  shape.kv_heads = model.num_query_groups;
  shape.head_size = model.kv_channels;
  shape.ffn = model.ffn_hidden_size;
  shape.experts = model.num_experts;
  shape.topk = model.moe_router_topk;
  shape.expert_ffn = model.moe_ffn_hidden_size;
  shape.shared_ffn = model.moe_shared_expert_intermediate_size;
  shape.sequence = model.seq_length;
  shape.vocabulary = model.vocab_size;
  shape.rotary_base = model.rotary_base;
  shape.norm_epsilon = model.norm_epsilon;
  shape.pre_softmax = model.moe_router_pre_softmax;
  shape.aux_loss_coeff = model.moe_aux_loss_coeff;
  shape.z_loss_coeff = model.moe_z_loss_coeff;
  shape.tied = !model.untie_embeddings_and_output_weights;
  weft_assert(shape.heads % shape.kv_heads == 0, "query groups divide the heads");
  weft_assert(shape.head_size % 2 == 0, "the head size is even");
  weft_assert(shape.experts == 0 || (shape.topk >= 1 && shape.topk <= shape.experts),
              "top-k is between 1 and the number of experts");
  return shape;
}

}  // namespace weft
