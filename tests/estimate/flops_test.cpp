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

}  // namespace
}  // namespace weft
