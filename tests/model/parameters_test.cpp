#include "model/parameters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "model/layer_parameters.h"

namespace weft {
namespace {

ModelShape shape() {
  ModelConfig model;
  model.hidden_size = 8;
  model.num_attention_heads = 4;
  model.num_query_groups = 2;
  model.ffn_hidden_size = 12;
  model.num_experts = 4;
  model.moe_ffn_hidden_size = 6;
  model.moe_shared_expert_intermediate_size = 10;
  model.vocab_size = 16;
  return shape_of(model);
}

std::map<std::string, at::Tensor> by_name(const ParameterStore& store) {
  std::map<std::string, at::Tensor> named;
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) named[slice.name] = slice.main;
  }
  return named;
}

TEST(Parameters, ALayerHasTheNamesAndShapesOfHuggingFace) {
  ParameterStore store;
  create_layer(store, shape(), 3, LayerKind::Moe, Stage(0), {2, 2});
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, tensor] : by_name(store)) shapes[name] = tensor.sizes().vec();
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"model.layers.3.input_layernorm.weight", {8}},
      {"model.layers.3.post_attention_layernorm.weight", {8}},
      {"model.layers.3.self_attn.q_proj.weight", {8, 8}},
      {"model.layers.3.self_attn.k_proj.weight", {4, 8}},
      {"model.layers.3.self_attn.v_proj.weight", {4, 8}},
      {"model.layers.3.self_attn.o_proj.weight", {8, 8}},
      {"model.layers.3.mlp.gate.weight", {4, 8}},
      {"model.layers.3.mlp.experts.2.gate_proj.weight", {6, 8}},
      {"model.layers.3.mlp.experts.2.up_proj.weight", {6, 8}},
      {"model.layers.3.mlp.experts.2.down_proj.weight", {8, 6}},
      {"model.layers.3.mlp.experts.3.gate_proj.weight", {6, 8}},
      {"model.layers.3.mlp.experts.3.up_proj.weight", {6, 8}},
      {"model.layers.3.mlp.experts.3.down_proj.weight", {8, 6}},
      {"model.layers.3.mlp.shared_experts.gate_proj.weight", {10, 8}},
      {"model.layers.3.mlp.shared_experts.up_proj.weight", {10, 8}},
      {"model.layers.3.mlp.shared_experts.down_proj.weight", {8, 10}},
  };
  EXPECT_EQ(shapes, expected);
}

TEST(Parameters, InitialWeightsDependOnSeedAndNameOnly) {
  ParameterStore whole;
  create_embedding(whole, shape(), Stage(0));
  create_layer(whole, shape(), 0, LayerKind::Moe, Stage(0), {0, 4});
  initialise(whole, 5, 0.02);
  ParameterStore shard;
  create_layer(shard, shape(), 0, LayerKind::Moe, Stage(2), {2, 2});
  initialise(shard, 5, 0.02);
  ParameterStore other_seed;
  create_layer(other_seed, shape(), 0, LayerKind::Moe, Stage(2), {2, 2});
  initialise(other_seed, 6, 0.02);
  const auto all = by_name(whole);
  const auto other = by_name(other_seed);
  for (const auto& [name, tensor] : by_name(shard)) {
    EXPECT_TRUE(at::equal(tensor, all.at(name))) << name;
    if (tensor.dim() == 1) continue;
    EXPECT_FALSE(at::equal(tensor, other.at(name))) << name;
  }
}

TEST(Parameters, MatricesAreNormalAndNormsAreOnes) {
  ModelShape large = shape();
  large.vocabulary = 4096;
  ParameterStore store;
  create_head(store, large, Stage(0));
  initialise(store, 1, 0.5);
  const auto named = by_name(store);
  EXPECT_TRUE(at::equal(named.at("model.norm.weight"), at::ones({8})));
  const at::Tensor matrix = named.at("model.embed_tokens.weight");  // tied by default
  // 32768 draws: the mean's deviation is 0.0028, the deviation's 0.002.
  EXPECT_NEAR(matrix.mean().item<double>(), 0, 0.012);
  EXPECT_NEAR(matrix.std().item<double>(), 0.5, 0.01);
}

TEST(Parameters, ComputeCopiesFollowTheMainWeights) {
  ParameterStore store;
  store.compute_type = at::kBFloat16;
  Parameter& rounded = store.add({3, 2}, Stage(0));
  Parameter& router = store.add({3, 2}, Stage(0), /*full_precision=*/true);
  rounded.main.fill_(1.0 + 1.0 / 1024);
  rounded.grad.fill_(2);
  store.refresh_compute();
  store.zero_grad();
  EXPECT_EQ(rounded.compute.scalar_type(), at::kBFloat16);
  EXPECT_EQ(rounded.compute[0][0].item<double>(), 1.0);
  EXPECT_TRUE(router.compute.is_same(router.main));
  EXPECT_EQ(rounded.grad.abs().sum().item<double>(), 0);
}

TEST(Parameters, TensorsStartOn64Bytes) {
  ParameterStore store;
  create_layer(store, shape(), 0, LayerKind::Moe, Stage(0), {0, 4});
  for (const Parameter& parameter : store.parameters) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameter.main.const_data_ptr()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameter.grad.const_data_ptr()) % 64, 0U);
  }
}

}  // namespace
}  // namespace weft
