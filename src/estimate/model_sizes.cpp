#include "estimate/model_sizes.h"

#include "config/derive.h"

namespace weft {

ModelSizes model_sizes(const Config& config) {
  const ModelConfig model = with_derived_sizes(config.model);
  ModelSizes sizes{attention_shape(model, config.extras)};
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
  return sizes;
}

}  // namespace weft
