#include "support/plain_model.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace weft::testing {
namespace {

using at::Tensor;

struct Sizes {
  explicit Sizes(const ModelConfig& m)
      : hidden(m.hidden_size),
        heads(m.num_attention_heads),
        groups(m.num_query_groups ? m.num_query_groups : m.num_attention_heads),
        head(m.kv_channels ? m.kv_channels : m.hidden_size / m.num_attention_heads),
        ffn(m.ffn_hidden_size ? m.ffn_hidden_size : 4 * m.hidden_size),
        expert(m.moe_ffn_hidden_size ? m.moe_ffn_hidden_size : ffn),
        shared(m.moe_shared_expert_intermediate_size) {}
  std::int64_t hidden, heads, groups, head, ffn, expert, shared;
};

class PlainForward {
 public:
  PlainForward(const ModelConfig& model, const std::vector<LayerKind>& kinds,
               const Weights& weights)
      : model_(model), kinds_(kinds), weights_(weights), sizes_(model) {}

  // Sum of the cross entropy over counted labels; aux losses are added to `aux`.
  Tensor cross_entropy_sum(const PlainBatch& batch, Tensor& aux) const {
    Tensor x = at::embedding(weight("model.embed_tokens.weight"), batch.tokens);
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i] == LayerKind::Noop) continue;
      const std::string layer = "model.layers." + std::to_string(i);
      x = x + self_attention(layer + ".self_attn", norm(layer + ".input_layernorm", x));
      const Tensor y = norm(layer + ".post_attention_layernorm", x);
      x = x + (kinds_[i] == LayerKind::Moe ? mixture(layer + ".mlp", y, aux)
                                           : swiglu(layer + ".mlp", y));
    }
    const char* head =
        model_.untie_embeddings_and_output_weights ? "lm_head.weight" : "model.embed_tokens.weight";
    const Tensor logits = at::matmul(norm("model.norm", x), weight(head).t());
    return at::nll_loss_nd(at::log_softmax(logits.flatten(0, 1), -1), batch.labels.flatten(), {},
                           at::Reduction::Sum, -100);
  }

 private:
  const Tensor& weight(const std::string& name) const { return weights_.at(name); }

  Tensor norm(const std::string& name, const Tensor& x) const {
    const Tensor mean = x.pow(2).mean(-1, true);
    return weight(name + ".weight") * (x / at::sqrt(mean + model_.norm_epsilon));
  }

  Tensor project(const std::string& name, const Tensor& x) const {
    return at::matmul(x, weight(name + ".weight").t());
  }

  Tensor swiglu(const std::string& name, const Tensor& x) const {
    const Tensor gate = project(name + ".gate_proj", x);
    return project(name + ".down_proj", gate * at::sigmoid(gate) * project(name + ".up_proj", x));
  }

  // x [B, heads, S, head]: dimension i turns with i + head / 2.
  Tensor rotate(const Tensor& x) const {
    const std::int64_t half = sizes_.head / 2;
    std::vector<double> angles;
    for (std::int64_t position = 0; position < x.size(2); ++position) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(sizes_.head);
        angles.push_back(static_cast<double>(position) * std::pow(model_.rotary_base, exponent));
      }
    }
    const Tensor angle = at::tensor(angles, at::kDouble).view({x.size(2), half});
    const Tensor turned = at::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1);
    const Tensor both = at::cat({angle, angle}, -1);
    return x * both.cos() + turned * both.sin();
  }

  Tensor heads_of(const Tensor& x, std::int64_t count) const {
    return x.view({x.size(0), x.size(1), count, sizes_.head}).transpose(1, 2);
  }

  Tensor self_attention(const std::string& name, const Tensor& x) const {
    const std::int64_t repeat = sizes_.heads / sizes_.groups;
    const Tensor q = rotate(heads_of(project(name + ".q_proj", x), sizes_.heads));
    const Tensor k = rotate(heads_of(project(name + ".k_proj", x), sizes_.groups));
    const Tensor v = heads_of(project(name + ".v_proj", x), sizes_.groups);
    const Tensor scores = at::matmul(q, k.repeat_interleave(repeat, 1).transpose(2, 3)) /
                          std::sqrt(static_cast<double>(sizes_.head));
    const Tensor future = at::ones({x.size(1), x.size(1)}, at::kBool).triu(1);
    const Tensor shares = at::softmax(scores.masked_fill(future, -INFINITY), -1);
    const Tensor out = at::matmul(shares, v.repeat_interleave(repeat, 1));
    return project(name + ".o_proj", out.transpose(1, 2).flatten(2));
  }

  Tensor mixture(const std::string& name, const Tensor& x, Tensor& aux) const {
    const Tensor flat = x.flatten(0, 1);
    const Tensor logits = project(name + ".gate", flat);
    const Tensor scores = at::softmax(logits, -1);
    auto [chosen_scores, chosen] = scores.topk(model_.moe_router_topk, -1);
    if (!model_.moe_router_pre_softmax) {
      chosen_scores = chosen_scores / chosen_scores.sum(-1, true);
    }
    Tensor out = at::zeros_like(flat);
    std::vector<double> share;
    for (std::int64_t e = 0; e < model_.num_experts; ++e) {
      const Tensor is_here = chosen.eq(e);
      share.push_back(is_here.sum().item<double>() / static_cast<double>(chosen.numel()));
      const Tensor tokens = is_here.any(-1).nonzero().squeeze(1);
      if (tokens.numel() == 0) continue;
      const Tensor y = swiglu(name + ".experts." + std::to_string(e), flat.index({tokens}));
      const Tensor factor = (chosen_scores * is_here).sum(-1).index({tokens});
      out = out.index_add(0, tokens, y * factor.unsqueeze(1));
    }
    if (sizes_.shared > 0) out = out + swiglu(name + ".shared_experts", flat);
    if (model_.moe_aux_loss_coeff > 0) {
      aux = aux + model_.moe_aux_loss_coeff * model_.num_experts *
                      (at::tensor(share, at::kDouble) * scores.mean(0)).sum();
    }
    if (model_.moe_z_loss_coeff > 0) {
      aux = aux + model_.moe_z_loss_coeff * at::logsumexp(logits, -1).pow(2).mean();
    }
    return out.view(x.sizes());
  }

  const ModelConfig& model_;
  const std::vector<LayerKind>& kinds_;
  const Weights& weights_;
  Sizes sizes_;
};

struct Objective {
  Tensor loss, aux_loss;
};

Objective objective_of(const ModelConfig& model, const std::vector<LayerKind>& kinds,
                       const Weights& weights, const std::vector<PlainBatch>& batches) {
  const PlainForward forward(model, kinds, weights);
  Objective sum{at::zeros({}, at::kDouble), at::zeros({}, at::kDouble)};
  double counted = 0;
  for (const PlainBatch& batch : batches) {
    sum.loss = sum.loss + forward.cross_entropy_sum(batch, sum.aux_loss);
    counted += batch.labels.ne(-100).sum().item<double>();
  }
  return {sum.loss / counted, sum.aux_loss / static_cast<double>(batches.size())};
}

Weights to_double(const Weights& weights, bool requires_grad) {
  Weights converted;
  for (const auto& [name, tensor] : weights) {
    converted[name] =
        tensor.detach().to(at::kCPU, at::kDouble, false, true).set_requires_grad(requires_grad);
  }
  return converted;
}

}  // namespace

PlainResult plain_model(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                        const Weights& weights, const std::vector<PlainBatch>& batches) {
  const at::AutoGradMode grad(true);
  Weights leaves = to_double(weights, true);
  const Objective objective = objective_of(model, layer_kinds, leaves, batches);
  torch::autograd::backward({objective.loss + objective.aux_loss}, {});
  PlainResult result{objective.loss.item<double>(), objective.aux_loss.item<double>(), {}};
  for (auto& [name, leaf] : leaves) {
    result.gradients[name] = leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf).detach();
  }
  return result;
}

double plain_objective(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                       const Weights& weights, const std::vector<PlainBatch>& batches) {
  const at::NoGradGuard no_grad;
  const Objective objective = objective_of(model, layer_kinds, to_double(weights, false), batches);
  return (objective.loss + objective.aux_loss).item<double>();
}

Weights random_weights(const ModelConfig& model, const std::vector<LayerKind>& layer_kinds,
                       std::uint64_t seed, double deviation) {
  const Sizes s(model);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  Weights weights;
  const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    weights[name + ".weight"] = at::empty({out, in}, at::kDouble).normal_(0, deviation, generator);
  };
  const auto norm = [&](const std::string& name) {
    weights[name + ".weight"] = at::empty({s.hidden}, at::kDouble).normal_(1, deviation, generator);
  };
  const auto mlp = [&](const std::string& name, std::int64_t width) {
    matrix(name + ".gate_proj", width, s.hidden);
    matrix(name + ".up_proj", width, s.hidden);
    matrix(name + ".down_proj", s.hidden, width);
  };
  matrix("model.embed_tokens", model.vocab_size, s.hidden);
  for (std::size_t i = 0; i < layer_kinds.size(); ++i) {
    if (layer_kinds[i] == LayerKind::Noop) continue;
    const std::string layer = "model.layers." + std::to_string(i);
    norm(layer + ".input_layernorm");
    norm(layer + ".post_attention_layernorm");
    matrix(layer + ".self_attn.q_proj", s.heads * s.head, s.hidden);
    matrix(layer + ".self_attn.k_proj", s.groups * s.head, s.hidden);
    matrix(layer + ".self_attn.v_proj", s.groups * s.head, s.hidden);
    matrix(layer + ".self_attn.o_proj", s.hidden, s.heads * s.head);
    if (layer_kinds[i] == LayerKind::Dense) {
      mlp(layer + ".mlp", s.ffn);
      continue;
    }
    matrix(layer + ".mlp.gate", model.num_experts, s.hidden);
    for (int e = 0; e < model.num_experts; ++e) {
      mlp(layer + ".mlp.experts." + std::to_string(e), s.expert);
    }
    if (s.shared > 0) mlp(layer + ".mlp.shared_experts", s.shared);
  }
  norm("model.norm");
  if (model.untie_embeddings_and_output_weights) matrix("lm_head", model.vocab_size, s.hidden);
  return weights;
}

}  // namespace weft::testing
