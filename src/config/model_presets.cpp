// Sizes of published models, as their config.json on the Hugging Face hub give them.
#include "config/model_source.h"

namespace weft {
namespace {

// arXiv 2401.04088; mistralai/Mixtral-8x7B-v0.1.
constexpr std::string_view kMixtral8x7b = R"({
  "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
  "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000, "rms_norm_eps": 1e-05,
  "rope_theta": 1000000.0, "initializer_range": 0.02, "max_position_embeddings": 32768,
  "tie_word_embeddings": false, "output_router_logits": false, "router_aux_loss_coef": 0.02})";

// arXiv 2505.09388; Qwen/Qwen3-30B-A3B.
constexpr std::string_view kQwen3Small = R"({
  "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
  "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
  "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "initializer_range": 0.02,
  "max_position_embeddings": 40960, "tie_word_embeddings": false, "attention_bias": false,
  "output_router_logits": false, "router_aux_loss_coef": 0.001})";

// arXiv 2505.09388; Qwen/Qwen3-235B-A22B.
constexpr std::string_view kQwen3Large = R"({
  "model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
  "moe_intermediate_size": 1536, "num_hidden_layers": 94, "num_attention_heads": 64,
  "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "initializer_range": 0.02,
  "max_position_embeddings": 40960, "tie_word_embeddings": false, "attention_bias": false,
  "output_router_logits": false, "router_aux_loss_coef": 0.001})";

// arXiv 2405.04434; deepseek-ai/DeepSeek-V2-Lite.
constexpr std::string_view kDeepseekV2Lite = R"({
  "model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
  "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
  "num_key_value_heads": 16, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
  "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1,
  "topk_group": 1, "topk_method": "greedy", "routed_scaling_factor": 1.0,
  "norm_topk_prob": false, "scoring_func": "softmax", "vocab_size": 102400,
  "rms_norm_eps": 1e-06, "rope_theta": 10000, "initializer_range": 0.02,
  "max_position_embeddings": 163840, "tie_word_embeddings": false, "attention_bias": false,
  "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096,
    "beta_fast": 32, "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707}})";

// arXiv 2412.19437; deepseek-ai/DeepSeek-V3.
constexpr std::string_view kDeepseekV3 = R"({
  "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
  "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
  "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8,
  "topk_group": 4, "topk_method": "noaux_tc", "routed_scaling_factor": 2.5,
  "norm_topk_prob": true, "scoring_func": "sigmoid", "num_nextn_predict_layers": 1,
  "vocab_size": 129280, "rms_norm_eps": 1e-06, "rope_theta": 10000, "initializer_range": 0.02,
  "max_position_embeddings": 163840, "tie_word_embeddings": false, "attention_bias": false,
  "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096,
    "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}})";

}  // namespace

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> kTable = {{"mixtral-8x7b", kMixtral8x7b},
                                                  {"qwen3-30b-a3b", kQwen3Small},
                                                  {"qwen3-235b-a22b", kQwen3Large},
                                                  {"deepseek-v2-lite", kDeepseekV2Lite},
                                                  {"deepseek-v3", kDeepseekV3}};
  return kTable;
}

}  // namespace weft
