#include "estimate/activation_bytes.h"

#include <algorithm>
#include <map>
#include <random>

#include "estimate/models.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/registry.h"
#include "schedule/text.h"

namespace weft {
namespace {

using testing::dense_config;
using testing::layout_over;
using testing::moe_config;

StepPlan plan_of(const Layout& layout, int micro_batches, bool overlap = false) {
  const std::string name = layout.map.placement == Placement::V ? "dualpipev"
                           : layout.map.num_ranks == 1          ? "no-pipeline"
                           : layout.map.chunks_per_rank > 1     ? "interleaved"
                                                                : "1f1b";
  const BuildRequest request{.num_ranks = layout.map.num_ranks,
                             .chunks_per_rank = layout.map.chunks_per_rank,
                             .num_micro_batches = micro_batches,
                             .overlap = overlap && name != "1f1b",
                             .detach = name == "dualpipev"};
  return lower(build_schedule(name, request), layout, default_costs(),
               {.moe_fb_overlap = request.overlap});
}

// 4 tokens: a hidden of 128 bytes, 16 for 1 / rms. What each segment leaves: embedding 128;
// attention 16 + 128 + 256 (q, k, v) + 128 + 32 and its output 128; feed-forward 16 + 128 + 3 * 96
// and its output 128; head 16 + 128 + 160 (logits) + 16. Peak: the norm's backward of the head, on
// top of all that, with four tensors of the hidden's size.
TEST(ActivationBytes, OfADenseLayerByArithmetic) {
  const Config config = dense_config(1);
  const ActivationTable table = activation_table(model_sizes(config), 4, {4, 4}, 1);
  const StepPlan plan = plan_of(layout_over(config, 1), 1);
  const RankActivations rank = count_activations(plan, table).at(0);
  const std::vector<std::int64_t> forward(rank.after.begin(), rank.after.begin() + 4);
  EXPECT_EQ(forward, (std::vector<std::int64_t>{128, 816, 1376, 1696}));
  EXPECT_EQ(rank.peak, 1696 + 512);
  EXPECT_EQ(print(plan.ranks[0].steps[rank.peak_step]), "0I0:head");
}

// 8 rows of 8 channels are 256 bytes, an expert's width 96 bytes over all rows. Attention leaves
// what a dense one does, the normed residual and its 1 / rms, 24 bytes of order and 4 of
// probability a row, and the rows to send; dispatch turns rows sent into rows received; experts
// leave 3 * 96 and rows to return; merge its output.
TEST(ActivationBytes, OfAMoeLayerByArithmetic) {
  const Config config = moe_config(1);
  const ActivationTable table = activation_table(model_sizes(config), 4, {4, 4}, 1);
  const StepPlan plan = plan_of(layout_over(config, 1), 1);
  const RankActivations rank = count_activations(plan, table).at(0);
  const std::int64_t attention = 128 + 688 + 128 + 16 + 8 * 28 + 256;
  const std::map<std::string, std::int64_t> held = {
      {"0F0:attention.0", attention},
      {"release(0F0:dispatch.0)", attention},
      {"0F0:experts.0", attention + 3 * 96 + 256},
      {"0F0:merge.0", attention + 3 * 96 + 256 + 128}};
  for (std::size_t i = 0; i < plan.ranks[0].steps.size(); ++i) {
    const std::string step = print(plan.ranks[0].steps[i]);
    const auto expected = held.find(step);
    if (expected == held.end()) continue;
    EXPECT_EQ(rank.after[i], expected->second) << step;
  }
}

// `Et|m|L`, all dense. Stage 1 has posted two gradients of 128 and receives 128; its projection
// leaves 128 of embedding, 2 * 128 joined, 2 * 16 of 1 / rms and its output; its layer what a layer
// does, 688 and 560; what it sends are two hidden states, its own and a copy of the one that the
// projection still reads.
TEST(ActivationBytes, OfAnMtpLayerByArithmetic) {
  Config config = dense_config(1);
  config.model.mtp_num_layers = 1;
  Layout layout = layout_over(config, 3);
  layout.stages = {{true, {0}, {}, false}, {false, {}, {0}, false}, {false, {}, {}, true}};
  const ActivationTable table = activation_table(model_sizes(config), 4, {4, 4}, 1);
  const StepPlan plan = plan_of(layout, 1);
  const std::vector<RankActivations> ranks = count_activations(plan, table);
  const auto held = [&](int rank, const std::string& step) {
    const auto& steps = plan.ranks[rank].steps;
    const auto at = std::ranges::find(steps, parse_step(step));
    return ranks[rank].after.at(static_cast<std::size_t>(at - steps.begin()));
  };
  const std::int64_t received = 2 * 128 + 128;
  EXPECT_EQ(held(1, "1F0:mtp_projection.1"), received + 544);
  EXPECT_EQ(held(1, "1F0:mlp.1"), received + 544 + 688 + 560);
  EXPECT_EQ(held(1, "start(1SEND_F0)"), received + 544 + 688 + 560 + 128);
  EXPECT_EQ(held(2, "wait(2RECV_F0)"), 2 * 128);
  EXPECT_EQ(held(2, "2F0:mtp_head.1"), 2 * 128 + 2 * 320);
  EXPECT_EQ(held(1, "release(1SEND_B0)"), 0);
}

// Latent attention, 4 tokens: queries and keys of 2 * (2 + 1) each, values of 2 * 3 beside 2 * 2 of
// keys, latents of 3 and 2 twice, one rotated key: 33 channels. Products put in and out 11, 9, 11,
// 12 and 14.
TEST(ActivationBytes, OfLatentAttentionByArithmetic) {
  Config config = dense_config(1);
  config.extras.q_lora_rank = 3;
  config.extras.kv_lora_rank = 2;
  config.extras.qk_nope_head_dim = 2;
  config.extras.qk_rope_head_dim = 1;
  config.extras.v_head_dim = 3;
  const ActivationTable table = activation_table(model_sizes(config), 4, {4, 4}, 1);
  const SegmentBytes& attention = table.segments.at({SegmentKind::Attention, false});
  EXPECT_EQ(attention.forward, 16 + 128 + 33 * 16 + 96 + 32 + 128);
  EXPECT_EQ(attention.wgrad, -57 * 16);
}

// Each tensor that comes goes once, whatever the layers, the schedule and the order within cells.
TEST(ActivationBytes, NothingIsLeftAtTheEnd) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    StageMap map{.num_ranks = 1 + static_cast<int>(random() % 4)};
    if (random() % 2 == 0) map.placement = Placement::V;
    if (map.placement == Placement::V || (map.num_ranks > 1 && random() % 2 == 0)) {
      map.chunks_per_rank = 2;
    }
    const Layout layout = testing::random_layout(map, random);
    Config config = moe_config(1);
    config.model.moe_shared_expert_intermediate_size = layout.shared_expert ? 5 : 0;
    config.model.moe_aux_loss_coeff = random() % 2 == 0 ? 0.01 : 0;
    const ElementBytes element = element_bytes(random() % 2 == 0 ? "fp32" : "bf16");
    const ActivationTable table =
        activation_table(model_sizes(config), 4, element, 1 + static_cast<int>(random() % 2));
    const StepPlan plan = plan_of(layout, 1 + static_cast<int>(random() % 9), random() % 2 == 0);
    for (const RankActivations& rank : count_activations(plan, table)) {
      EXPECT_EQ(rank.after.back(), 0);
      EXPECT_GE(*std::ranges::min_element(rank.after), 0);
      EXPECT_GE(rank.peak, *std::ranges::max_element(rank.after));
    }
  }
}

// Rank r of 1F1B holds P - r micro-batches at once.
TEST(ActivationBytes, GrowWithTheMicroBatchesAlive) {
  const Config config = dense_config(4);
  const ActivationTable table = activation_table(model_sizes(config), 4, {4, 4}, 1);
  const std::vector<RankActivations> ranks =
      count_activations(plan_of(layout_over(config, 4), 8), table);
  const std::int64_t kept = 688 - 128 + 560;  // of a layer, its input going back to the sender
  EXPECT_GE(ranks[1].peak, 3 * kept);
  EXPECT_LT(ranks[1].peak, 4 * kept + 1024);
  EXPECT_GE(ranks[2].peak, 2 * kept);
  EXPECT_LT(ranks[2].peak, 3 * kept + 1024);
}

}  // namespace
}  // namespace weft
