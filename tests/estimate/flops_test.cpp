#include "estimate/flops.h"

#include "estimate/models.h"

namespace weft {
namespace {

using testing::dense_config;
using testing::layout_over;
using testing::moe_config;

// A layer multiplies with 192 + 144 weights; scores and values take 2 operations for each of 8
// channels and the 2.5 tokens that a causal mask leaves of 4; the head has 80 weights.
TEST(Flops, OfADenseModelByArithmetic) {
  const Config config = dense_config(2);
  const FlopsPerToken flops = count_flops(model_sizes(config), layout_over(config, 1));
  EXPECT_DOUBLE_EQ(flops.products, 2 * 2 * (192 + 144));
  EXPECT_DOUBLE_EQ(flops.attention, 2 * (2 * 2.5 * 8 + 2 * 2.5 * 8));
  EXPECT_DOUBLE_EQ(flops.head, 2 * 80);
  EXPECT_DOUBLE_EQ(flops.training(), 3 * (1344 + 160 + 160));
}

// Of the experts those that the token meets, and the router.
TEST(Flops, OfExpertsByArithmetic) {
  const Config config = moe_config(1);
  const FlopsPerToken flops = count_flops(model_sizes(config), layout_over(config, 1));
  EXPECT_DOUBLE_EQ(flops.products, 2 * (192 + 32 + 2 * 72));
}

// An MTP layer is one more layer as the last, the projection of 16 channels to 8, and a pass
// through the head.
TEST(Flops, OfAnMtpLayerByArithmetic) {
  Config config = moe_config(2);
  config.model.first_k_dense_replace = 1;
  config.model.mtp_num_layers = 1;
  const FlopsPerToken flops = count_flops(model_sizes(config), layout_over(config, 1));
  EXPECT_DOUBLE_EQ(flops.products, 2 * (192 + 144) + 2 * 2 * (192 + 32 + 2 * 72) + 2 * 16 * 8);
  EXPECT_DOUBLE_EQ(flops.attention, 3 * (2 * 2.5 * 8 + 2 * 2.5 * 8));
  EXPECT_DOUBLE_EQ(flops.head, 2 * (2 * 80));
}

TEST(Flops, NoopLayersHaveNone) {
  Config config = dense_config(2);
  config.model.noop_layers = "0";
  EXPECT_DOUBLE_EQ(count_flops(model_sizes(config), layout_over(config, 1)).products, 672);
}

FlopsPerToken flops_of(const std::string& model) {
  const Config config = testing::plan_config({"--model", model, "--num-microbatches", "1"});
  return count_flops(model_sizes(config), layout_over(config, 1));
}

// Latent attention of DeepSeek-V2-Lite (arXiv 2405.04434, appendix B): 16 heads, queries of 128 +
// 64 by one product, a latent of 512, values of 128; 27 layers, one dense, 6 experts and 2 shared
// ones.
TEST(Flops, OfDeepSeekV2LiteByArithmetic) {
  const double attention =
      2048.0 * 16 * 192 + 2048 * (512 + 64) + 512 * 16 * (128 + 128) + 16 * 128 * 2048;
  const double dense = 3.0 * 2048 * 10944;
  const double moe = 2048.0 * 64 + (6 + 2) * 3 * 2048 * 1408;
  const FlopsPerToken flops = flops_of("deepseek-v2-lite");
  EXPECT_DOUBLE_EQ(attention, 13'762'560);
  EXPECT_DOUBLE_EQ(flops.products, 2 * (27 * attention + dense + 26 * moe));
  EXPECT_DOUBLE_EQ(flops.attention, 27 * 2 * (4097 / 2.0) * 16 * (192 + 128));
  EXPECT_DOUBLE_EQ(flops.head, 2.0 * 102400 * 2048);
}

// DeepSeek-V3 (arXiv 2412.19437, section 4.2): 128 heads, queries through a latent of 1536; 61
// layers, three dense, 8 experts and a shared one; one MTP layer.
TEST(Flops, OfDeepSeekV3ByArithmetic) {
  const double attention = 7168.0 * 1536 + 1536 * 128 * 192 + 7168 * (512 + 64) +
                           512.0 * 128 * (128 + 128) + 128.0 * 128 * 7168;
  const double dense = 3.0 * 7168 * 18432;
  const double moe = 7168.0 * 256 + (8 + 1) * 3.0 * 7168 * 2048;
  const FlopsPerToken flops = flops_of("deepseek-v3");
  EXPECT_DOUBLE_EQ(attention, 187'105'280);
  EXPECT_DOUBLE_EQ(flops.products, 2 * (62 * attention + 3 * dense + 59 * moe + 2.0 * 7168 * 7168));
  EXPECT_DOUBLE_EQ(flops.attention, 62 * 2 * (4097 / 2.0) * 128 * (192 + 128));
  EXPECT_DOUBLE_EQ(flops.head, 2 * (2.0 * 129280 * 7168));
}

}  // namespace
}  // namespace weft
