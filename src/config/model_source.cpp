#include "config/model_source.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "config/flag.h"
#include "config/model_config_reader.h"

namespace weft {
namespace {

using Reader = ModelConfigReader;

// Models are published for far longer sequences than those that most of their training used.
constexpr int kDefaultSequence = 4096;

std::string number_text(std::string_view name, std::int64_t value) {
  return std::string(name) + " " + std::to_string(value);
}

void read_rope(Reader& reader) {
  const nlohmann::json& rope = reader.rope();
  const auto theta = rope.is_object() ? rope.find("rope_theta") : rope.end();
  if (rope.is_object() && theta != rope.end() && theta->is_number()) {
    reader.set("rotary-base", print_double(theta->get<double>()), "rope_parameters.rope_theta");
  } else {
    reader.take_number("rotary-base", "rope_theta");
  }
  for (const char* key : {"rope_type", "type"}) {
    const auto type = rope.is_object() ? rope.find(key) : rope.end();
    if (!rope.is_object() || type == rope.end() || !type->is_string()) continue;
    if (*type != "default")
      reader.lacks("rotary positions stretched by " + type->get<std::string>());
    return;
  }
}

// What all families have.
void read_common(Reader& reader) {
  reader.take_whole("hidden-size", "hidden_size", true);
  reader.take_whole("num-layers", "num_hidden_layers", true);
  reader.take_whole("num-attention-heads", "num_attention_heads", true);
  reader.take_whole("vocab-size", "vocab_size", true);
  reader.take_number("norm-epsilon", "rms_norm_eps");
  reader.take_number("init-method-std", "initializer_range");
  const bool tied = reader.boolean("tie_word_embeddings").value_or(false);
  reader.set("untie-embeddings-and-output-weights", tied ? "false" : "true", "tie_word_embeddings");
  const int positions = reader.size("max_position_embeddings");
  const int sequence = positions > 0 ? std::min(positions, kDefaultSequence) : kDefaultSequence;
  reader.set("seq-length", std::to_string(sequence), "max_position_embeddings, at most 4096");
  read_rope(reader);
}

// The number of experts has three names, `usual` the family's own; transformers adds the auxiliary
// loss only if the router's logits are asked for.
void read_experts(Reader& reader, const char* usual) {
  std::string key = usual;
  for (const char* other : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (reader.whole(other)) key = other;
  }
  reader.take_whole("num-experts", key, true);
  reader.take_whole("moe-router-topk", "num_experts_per_tok", true);
  if (reader.boolean("output_router_logits").value_or(false)) {
    reader.take_number("moe-aux-loss-coeff", "router_aux_loss_coef");
  }
}

void read_grouped_queries(Reader& reader) {
  reader.take_whole("num-query-groups", "num_key_value_heads");
  reader.take_whole("kv-channels", "head_dim");
}

void set_pre_softmax(Reader& reader, bool renormalised) {
  reader.set("moe-router-pre-softmax", renormalised ? "false" : "true", "norm_topk_prob");
}

void add_bias(Reader& reader, bool input, bool output) {
  reader.extras().input_bias = input;
  reader.extras().output_bias = output;
  if (input || output) reader.lacks("biases in attention");
}

void read_mixtral(Reader& reader) {
  read_common(reader);
  read_experts(reader, "num_local_experts");
  read_grouped_queries(reader);
  reader.take_whole("ffn-hidden-size", "intermediate_size", true);
  reader.take_whole("moe-ffn-hidden-size", "intermediate_size");
  if (reader.whole("sliding_window")) reader.lacks("attention within a sliding window");
}

// Layer i is MoE if i + 1 is a multiple of decoder_sparse_step and i is not in mlp_only_layers.
void read_sparse_layers(Reader& reader) {
  const std::int64_t step = reader.whole("decoder_sparse_step").value_or(1);
  const std::vector<std::int64_t> dense = reader.whole_list("mlp_only_layers");
  const std::int64_t layers = reader.whole("num_hidden_layers").value_or(0);
  if (step < 1) return reader.wrong("decoder_sparse_step", "has to be 1 or more");
  if ((step == 1 && dense.empty()) || layers < 1 || layers > 100000) return;
  std::string list;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool moe = (i + 1) % step == 0 && std::ranges::find(dense, i) == dense.end();
    list += (i == 0 ? "[" : ",") + std::string(moe ? "1" : "0");
  }
  reader.set("moe-layer-freq", list + "]", step == 1 ? "mlp_only_layers" : "decoder_sparse_step");
}

void read_qwen(Reader& reader) {
  read_common(reader);
  read_experts(reader, "num_experts");
  read_grouped_queries(reader);
  read_sparse_layers(reader);
  reader.take_whole("ffn-hidden-size", "intermediate_size", true);
  reader.take_whole("moe-ffn-hidden-size", "moe_intermediate_size", true);
  set_pre_softmax(reader, reader.boolean("norm_topk_prob").value_or(false));
  if (reader.boolean("use_sliding_window").value_or(false)) {
    reader.lacks("attention within a sliding window");
  }
}

void read_qwen2(Reader& reader) {
  read_qwen(reader);
  add_bias(reader, reader.boolean("qkv_bias").value_or(true), false);
  reader.take_whole("moe-shared-expert-intermediate-size", "shared_expert_intermediate_size", true);
  reader.extras().shared_expert_gate = true;
  reader.lacks("a gate on the shared expert");
}

void read_qwen3(Reader& reader) {
  read_qwen(reader);
  const bool bias = reader.boolean("attention_bias").value_or(false);
  add_bias(reader, bias, bias);
  reader.extras().query_key_norm = QueryKeyNorm::PerHead;
  reader.lacks("norms of queries and keys");
}

void read_olmoe(Reader& reader) {
  read_common(reader);
  read_experts(reader, "num_experts");
  read_grouped_queries(reader);
  reader.take_whole("ffn-hidden-size", "intermediate_size", true);
  reader.take_whole("moe-ffn-hidden-size", "intermediate_size");
  set_pre_softmax(reader, reader.boolean("norm_topk_prob").value_or(false));
  const bool bias = reader.boolean("attention_bias").value_or(false);
  add_bias(reader, bias, bias);
  reader.extras().query_key_norm = QueryKeyNorm::Whole;
  reader.lacks("norms of queries and keys");
  if (reader.number("clip_qkv")) reader.lacks("clipped queries, keys and values");
}

// Experts as DeepSeek and GLM have them: the first layers dense, shared experts as one MLP.
void read_deepseek_experts(Reader& reader) {
  read_experts(reader, "n_routed_experts");
  reader.take_whole("ffn-hidden-size", "intermediate_size", true);
  reader.take_whole("moe-ffn-hidden-size", "moe_intermediate_size", true);
  reader.take_whole("first-k-dense-replace", "first_k_dense_replace");
  reader.take_whole("moe-layer-freq", "moe_layer_freq");
  const std::int64_t shared = reader.whole("n_shared_experts").value_or(0);
  const std::int64_t width = reader.whole("moe_intermediate_size").value_or(0);
  if (shared < 0 || shared > 1024 || width < 0 || width > (1 << 24)) {
    return reader.wrong("n_shared_experts", "a number of experts from 0 to 1024 is expected");
  }
  reader.set("moe-shared-expert-intermediate-size", std::to_string(shared * width),
             "n_shared_experts");
  const std::int64_t groups = reader.whole("n_group").value_or(1);
  if (groups > 1)
    reader.lacks("routing limited to groups of experts (" + number_text("of", groups) + ")");
  if (reader.number("routed_scaling_factor").value_or(1.0) != 1.0) {
    reader.lacks("a factor on the chosen experts' weights");
  }
}

void read_sigmoid_router(Reader& reader) {
  set_pre_softmax(reader, reader.boolean("norm_topk_prob").value_or(true));
  reader.lacks("router scores by sigmoid");
  reader.lacks("balancing by a bias on the scores");
}

// Training says itself that it lacks these.
void read_mtp(Reader& reader) { reader.take_whole("mtp-num-layers", "num_nextn_predict_layers"); }

void read_latent_attention(Reader& reader) {
  ModelExtras& extras = reader.extras();
  extras.q_lora_rank = reader.size("q_lora_rank");
  extras.kv_lora_rank = reader.size("kv_lora_rank");
  extras.qk_nope_head_dim = reader.size("qk_nope_head_dim");
  extras.qk_rope_head_dim = reader.size("qk_rope_head_dim");
  extras.v_head_dim = reader.size("v_head_dim");
  for (const char* key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}) {
    if (reader.size(key) == 0) reader.wrong(key, "latent attention needs a size above 0 here");
  }
  // What the rules say of heads is said of a head's values.
  reader.take_whole("kv-channels", "v_head_dim");
  reader.lacks("multi-head latent attention");
  const bool bias = reader.boolean("attention_bias").value_or(false);
  add_bias(reader, bias, bias);
}

void read_deepseek_v2(Reader& reader) {
  read_common(reader);
  read_deepseek_experts(reader);
  read_latent_attention(reader);
  set_pre_softmax(reader, false);
}

void read_deepseek_v3(Reader& reader) {
  read_common(reader);
  read_deepseek_experts(reader);
  read_latent_attention(reader);
  read_sigmoid_router(reader);
  read_mtp(reader);
}

void read_glm4(Reader& reader) {
  read_common(reader);
  read_deepseek_experts(reader);
  read_grouped_queries(reader);
  read_sigmoid_router(reader);
  read_mtp(reader);
  add_bias(reader, reader.boolean("attention_bias").value_or(false), false);
  if (reader.boolean("use_qk_norm").value_or(false)) {
    reader.extras().query_key_norm = QueryKeyNorm::PerHead;
    reader.lacks("norms of queries and keys");
  }
  if (reader.number("partial_rotary_factor").value_or(0.5) != 1.0) {
    reader.lacks("rotation of a part of each head");
  }
}

struct Family {
  std::string_view model_type;
  void (*read)(Reader&);
};

constexpr Family kFamilies[] = {
    {"mixtral", read_mixtral}, {"qwen2_moe", read_qwen2},         {"qwen3_moe", read_qwen3},
    {"olmoe", read_olmoe},     {"deepseek_v2", read_deepseek_v2}, {"deepseek_v3", read_deepseek_v3},
    {"glm4_moe", read_glm4}};

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) names.emplace_back(preset.name);
  return names;
}

}  // namespace

ModelDescription parse_model_config(std::string_view json, const std::string& source) {
  Reader reader(json, source);
  const std::string type = reader.text("model_type").value_or("");
  std::vector<std::string> names;
  for (const Family& family : kFamilies) {
    names.emplace_back(family.model_type);
    if (family.model_type != type) continue;
    family.read(reader);
    return reader.finish();
  }
  reader.wrong("model_type",
               "this family is not known" + did_you_mean(type, names) + "; known: " + join(names));
  return reader.finish();
}

ModelDescription read_model(const std::string& name_or_path) {
  for (const ModelPreset& preset : model_presets()) {
    if (preset.name == name_or_path) return parse_model_config(preset.config, name_or_path);
  }
  std::error_code error;
  std::filesystem::path path(name_or_path);
  if (!std::filesystem::exists(path, error)) {
    throw UserError(Violation{"model-name", "--model " + name_or_path,
                              "no such model" + did_you_mean(name_or_path, preset_names()) +
                                  "; known by name: " + join(preset_names()) +
                                  "; else the path of a config.json or of its folder"});
  }
  if (std::filesystem::is_directory(path, error)) path /= "config.json";
  return parse_model_config(read_file(path.string(), "--model"), path.string());
}

void take_model(Request& request, std::vector<Violation>& violations) {
  if (request.config.plan.model.empty()) return;
  try {
    const ModelDescription model = read_model(request.config.plan.model);
    request.config.extras = model.extras;
    for (const auto& [name, value] : model.flags) {
      if (const auto given = request.sources.find(name); given != request.sources.end()) {
        if (given->second.text != value.text) given->second.overrides = value.text;
        continue;
      }
      const Source source{SourceKind::Model, model.source + ": " + value.key, value.text, ""};
      const std::string found = source.place + " = " + source.text;
      if (auto violation = set_flag(*find_flag(name), value.text, found, request.config)) {
        violations.push_back(std::move(*violation));
        request.broken.insert(name);
      }
      request.sources.emplace(name, source);
    }
  } catch (const UserError& error) {
    violations.insert(violations.end(), error.violations().begin(), error.violations().end());
    request.incomplete = true;
  }
}

}  // namespace weft
