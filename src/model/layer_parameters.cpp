#include "model/layer_parameters.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace weft {
namespace {

void name_all(Parameter& parameter, std::string name) {
  parameter.slices.push_back({std::move(name), parameter.main, parameter.grad});
}

// Rows [first, first + count) of the last but one dimension's matrix.
void name_rows(Parameter& parameter, std::string name, std::int64_t first, std::int64_t count) {
  parameter.slices.push_back({std::move(name), parameter.main.narrow(0, first, count),
                              parameter.grad.narrow(0, first, count)});
}

Parameter* add_norm(ParameterStore& store, const std::string& name, std::int64_t size,
                    Stage stage) {
  Parameter& norm = store.add({size}, stage);
  name_all(norm, name + ".weight");
  return &norm;
}

Parameter* add_matrix(ParameterStore& store, const std::string& name, std::int64_t out,
                      std::int64_t in, Stage stage, bool full_precision = false) {
  Parameter& matrix = store.add({out, in}, stage, full_precision);
  name_all(matrix, name + ".weight");
  return &matrix;
}

Parameter* add_qkv(ParameterStore& store, const std::string& attention, const ModelShape& shape,
                   Stage stage) {
  const std::int64_t q = shape.heads * shape.head_size;
  const std::int64_t kv = shape.kv_heads * shape.head_size;
  Parameter& qkv = store.add({q + 2 * kv, shape.hidden}, stage);
  name_rows(qkv, attention + ".q_proj.weight", 0, q);
  name_rows(qkv, attention + ".k_proj.weight", q, kv);
  name_rows(qkv, attention + ".v_proj.weight", q + kv, kv);
  return &qkv;
}

Parameter* add_gate_up(ParameterStore& store, const std::string& mlp, std::int64_t width,
                       std::int64_t hidden, Stage stage) {
  Parameter& gate_up = store.add({2 * width, hidden}, stage);
  name_rows(gate_up, mlp + ".gate_proj.weight", 0, width);
  name_rows(gate_up, mlp + ".up_proj.weight", width, width);
  return &gate_up;
}

void add_experts(ParameterStore& store, const std::string& mlp, const ModelShape& shape,
                 Stage stage, ExpertRange experts, LayerParameters& layer) {
  const std::int64_t width = shape.expert_ffn;
  Parameter& gate_up = store.add({experts.count, 2 * width, shape.hidden}, stage);
  Parameter& down = store.add({experts.count, shape.hidden, width}, stage);
  gate_up.expert = down.expert = true;
  for (std::int64_t i = 0; i < experts.count; ++i) {
    const std::string expert = mlp + ".experts." + std::to_string(experts.first + i);
    const at::Tensor main = gate_up.main[i];
    const at::Tensor grad = gate_up.grad[i];
    gate_up.slices.push_back(
        {expert + ".gate_proj.weight", main.narrow(0, 0, width), grad.narrow(0, 0, width)});
    gate_up.slices.push_back(
        {expert + ".up_proj.weight", main.narrow(0, width, width), grad.narrow(0, width, width)});
    down.slices.push_back({expert + ".down_proj.weight", down.main[i], down.grad[i]});
  }
  layer.expert_gate_up = &gate_up;
  layer.expert_down = &down;
}

LayerParameters add_layer(ParameterStore& store, const ModelShape& shape, int layer, LayerKind kind,
                          Stage stage, ExpertRange experts) {
  weft_assert(kind != LayerKind::Noop, "a noop layer has no parameters");
  const std::string prefix = "model.layers." + std::to_string(layer);
  const std::string attention = prefix + ".self_attn";
  const std::string mlp = prefix + ".mlp";
  LayerParameters made;
  made.attention_norm = add_norm(store, prefix + ".input_layernorm", shape.hidden, stage);
  made.qkv = add_qkv(store, attention, shape, stage);
  made.attention_output =
      add_matrix(store, attention + ".o_proj", shape.hidden, shape.heads * shape.head_size, stage);
  made.ffn_norm = add_norm(store, prefix + ".post_attention_layernorm", shape.hidden, stage);
  if (kind == LayerKind::Dense) {
    made.gate_up = add_gate_up(store, mlp, shape.ffn, shape.hidden, stage);
    made.down = add_matrix(store, mlp + ".down_proj", shape.hidden, shape.ffn, stage);
    return made;
  }
  made.router = add_matrix(store, mlp + ".gate", shape.experts, shape.hidden, stage,
                           /*full_precision=*/true);
  add_experts(store, mlp, shape, stage, experts, made);
  if (shape.shared_ffn > 0) {
    const std::string shared = mlp + ".shared_experts";
    made.shared_gate_up = add_gate_up(store, shared, shape.shared_ffn, shape.hidden, stage);
    made.shared_down =
        add_matrix(store, shared + ".down_proj", shape.hidden, shape.shared_ffn, stage);
  }
  return made;
}

}  // namespace

LayerParameters create_layer(ParameterStore& store, const ModelShape& shape, int layer,
                             LayerKind kind, Stage stage, ExpertRange experts) {
  const std::size_t first = store.parameters.size();
  const LayerParameters made = add_layer(store, shape, layer, kind, stage, experts);
  for (std::size_t i = first; i < store.parameters.size(); ++i) store.parameters[i].layer = layer;
  return made;
}

Parameter& create_embedding(ParameterStore& store, const ModelShape& shape, Stage stage) {
  return *add_matrix(store, "model.embed_tokens", shape.vocabulary, shape.hidden, stage);
}

HeadParameters create_head(ParameterStore& store, const ModelShape& shape, Stage stage) {
  HeadParameters head;
  head.norm = add_norm(store, "model.norm", shape.hidden, stage);
  head.output = add_matrix(store, shape.tied ? "model.embed_tokens" : "lm_head", shape.vocabulary,
                           shape.hidden, stage);
  return head;
}

}  // namespace weft
