#include "estimate/parameter_count.h"

#include "estimate/models.h"

namespace weft {
namespace {

using testing::dense_config;
using testing::layout_over;
using testing::moe_config;
using testing::plan_config;

struct Published {
  std::string name;
  std::int64_t total;  // elements of the published weights, the MTP layer apart
  double active;       // as the model's paper or card gives it
  bool active_counts_embedding;
};

// Totals: the index files of the published weights give bytes, two a parameter: 93,405,585,408 of
// Mixtral, 61,064,245,248 and 470,187,269,120 of Qwen3, 31,412,968,448 of DeepSeek-V2-Lite; of
// DeepSeek-V3 684,489,830,400 elements without scales and biases, of which 13,463,426,048 are the
// MTP layer with its copies of embedding and head. Active: arXiv 2401.04088, 2505.09388,
// 2405.04434, and the weights' description of DeepSeek-V3.
const std::vector<Published> kPublished = {
    {"mixtral-8x7b", 46'702'792'704, 12.9e9, true},
    {"qwen3-30b-a3b", 30'532'122'624, 3.3e9, true},
    {"qwen3-235b-a22b", 235'093'634'560, 22e9, true},
    {"deepseek-v2-lite", 15'706'484'224, 2.4e9, false},
    {"deepseek-v3", 684'489'830'400 - 13'463'426'048, 36.7e9, false}};

TEST(ParameterCount, OfPublishedModels) {
  for (const Published& model : kPublished) {
    SCOPED_TRACE(model.name);
    const Config config = plan_config({"--model", model.name, "--num-microbatches", "1"});
    const ModelSizes sizes = model_sizes(config);
    const Layout layout = layout_over(config, 1);
    const ParameterCount all = count_model(sizes, layout);
    EXPECT_EQ(all.total() - all.mtp - all.mtp_experts, model.total);
    const ParameterCount active = count_active(sizes, layout);
    double met = static_cast<double>(active.total() - active.mtp - active.mtp_experts);
    if (!model.active_counts_embedding) met -= static_cast<double>(active.embedding);
    EXPECT_NEAR(met, model.active, 0.025 * model.active);
  }
}

// 256 experts of 3 * 7168 * 2048 and a shared one, the router, latent attention of 187,107,328 with
// its norms, two norms of the layer, the projection of twice 7168, three more norms.
TEST(ParameterCount, OfAnMtpLayer) {
  const Config config = plan_config({"--model", "deepseek-v3", "--num-microbatches", "1"});
  const ParameterCount all = count_model(model_sizes(config), layout_over(config, 1));
  EXPECT_EQ(all.mtp_experts, 256LL * 3 * 7168 * 2048);
  EXPECT_EQ(all.mtp,
            3LL * 7168 * 2048 + 256 * 7168 + 187'107'328 + 2 * 7168 + 2LL * 7168 * 7168 + 3 * 7168);
}

// Attention 8 * (8 + 2 * 4) + 8 * 8, feed-forward 3 * 8 * 6, two norms of 8; ends 10 * 8 and a
// norm.
TEST(ParameterCount, OfADenseModelByArithmetic) {
  const Config config = dense_config(3);
  const ModelSizes sizes = model_sizes(config);
  EXPECT_EQ(count_layer(sizes, LayerKind::Dense, 0).total(), 192 + 144 + 16);
  EXPECT_EQ(count_model(sizes, layout_over(config, 1)).total(), 3 * 352 + 80 + 8);
}

// Router 8 * 4, experts 3 * 8 * 3 each; a token meets two of them.
TEST(ParameterCount, OfExpertsByArithmetic) {
  const ModelSizes sizes = model_sizes(moe_config(1));
  EXPECT_EQ(count_layer(sizes, LayerKind::Moe, 4).total(), 192 + 16 + 32 + 4 * 72);
  EXPECT_EQ(count_layer(sizes, LayerKind::Moe, 1).experts, 72);
  const Layout layout = layout_over(moe_config(1), 1);
  EXPECT_EQ(count_model(sizes, layout).total() - count_active(sizes, layout).total(), 2 * 72);
}

TEST(ParameterCount, NoopLayersHaveNone) {
  Config config = dense_config(3);
  config.model.noop_layers = "1";
  EXPECT_EQ(count_model(model_sizes(config), layout_over(config, 1)).total(), 2 * 352 + 88);
}

// However the model is cut, its ranks hold it once; a tied matrix lies at both ends, and so does an
// untied embedding whose other end has MTP layers.
TEST(ParameterCount, RanksHoldTheModelOnce) {
  for (const bool untied : {false, true}) {
    for (const int ranks : {1, 2, 3, 5}) {
      Config config = moe_config(7);
      config.model.first_k_dense_replace = 2;
      config.model.moe_shared_expert_intermediate_size = 5;
      config.model.untie_embeddings_and_output_weights = untied;
      config.model.mtp_num_layers = 2;
      const ModelSizes sizes = model_sizes(config);
      const Layout layout = layout_over(config, ranks);
      const ParameterCount all = count_model(sizes, layout);
      std::int64_t experts = 0, replicated = 0;
      for (int r = 0; r < ranks; ++r) {
        const ParameterCount rank = count_rank(sizes, layout, Rank(r), /*expert_ranks=*/2);
        experts += 2 * rank.all_experts();
        replicated += rank.replicated();
      }
      EXPECT_EQ(experts, all.all_experts());
      EXPECT_EQ(replicated, all.replicated() + (untied && ranks == 1 ? 0 : 80));
    }
  }
}

Layout mtp_layout(const StageMap& map, const std::vector<StageLayers>& stages) {
  Layout layout;
  layout.map = map;
  layout.stages = stages;
  for (const StageLayers& stage : stages) {
    layout.layer_kinds.resize(layout.layer_kinds.size() + stage.decoder_layers.size(),
                              LayerKind::Dense);
  }
  return layout;
}

// A layer 352, its projection 16 * 8, two norms of 8 ahead of it and one behind; the matrix 80.
constexpr std::int64_t kMtpBody = 352 + 128 + 16;

// `Et|m|L` on three ranks: the layer's rank has a copy of the embedding; the head's matrix gets a
// gradient from the layer's loss too, and lies there once.
TEST(ParameterCount, MtpLayerAheadOfTheLoss) {
  Config config = dense_config(1);
  config.model.untie_embeddings_and_output_weights = true;
  const ModelSizes sizes = model_sizes(config);
  const Layout layout = mtp_layout(
      {.num_ranks = 3}, {{true, {0}, {}, false}, {false, {}, {0}, false}, {false, {}, {}, true}});
  EXPECT_EQ(count_rank(sizes, layout, Rank(0), 1).gradients(), 352 + 80);
  const ParameterCount middle = count_bucket(sizes, layout, Stage(1), 1, 1);
  EXPECT_EQ(middle.total(), kMtpBody + 80);
  EXPECT_EQ(middle.gradients(), middle.total());
  const ParameterCount last = count_bucket(sizes, layout, Stage(2), 1, 1);
  EXPECT_EQ(last.total(), 8);
  EXPECT_EQ(last.gradients(), 8 + 80);
  EXPECT_EQ(count_bucket(sizes, layout, Stage(2), -1, 1).gradients(), 8 + 80);
  EXPECT_EQ(embedding_ranks(layout, false), (std::vector<int>{0, 1}));
  EXPECT_EQ(embedding_places(layout, true, Rank(2)), 2);
}

// At the end of a V, and with tied embeddings beside the head, the matrix is at hand: the layer
// adds a gradient for each of its two uses.
TEST(ParameterCount, MtpLayersShareTheMatricesOfTheirRank) {
  const std::vector<StageLayers> two = {{true, {0}, {}, false}, {false, {}, {0, 1}, true}};
  for (const bool untied : {false, true}) {
    Config config = dense_config(1);
    config.model.untie_embeddings_and_output_weights = untied;
    const ModelSizes sizes = model_sizes(config);
    const Layout v = mtp_layout({1, 2, Placement::V}, two);
    const ParameterCount rank = count_rank(sizes, v, Rank(0), 1);
    EXPECT_EQ(rank.mtp, 2 * (kMtpBody + 8));
    EXPECT_EQ(rank.shared_gradients, 4 * 80);
    const Layout looped = mtp_layout({.num_ranks = 2}, two);
    const ParameterCount last = count_rank(sizes, looped, Rank(1), 1);
    EXPECT_EQ(last.mtp, 2 * (kMtpBody + 8) + (untied ? 80 : 0));
    EXPECT_EQ(last.shared_gradients, (untied ? 3 : 4) * 80);
  }
}

}  // namespace
}  // namespace weft
