#include "layout/layout.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Layout, StageText) {
  EXPECT_EQ(stage_text({true, {0, 1}, {}, false}), "Ett");
  EXPECT_EQ(stage_text({false, {7}, {0}, true}), "tmL");
  EXPECT_EQ(stage_text({}), "");
}

// Three decoder layers, the last of which does nothing, and two MTP layers behind them.
TEST(Layout, MtpLayersAreNumberedOnAndAsTheLastLayerThatDoesAnything) {
  Layout layout;
  layout.map = {2, 2, Placement::V};
  layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe, LayerKind::Noop};
  layout.stages = {{true, {0, 1, 2}, {}, false},
                   {false, {}, {0}, false},
                   {false, {}, {1}, false},
                   {false, {}, {}, true}};
  EXPECT_EQ(num_mtp_layers(layout), 2);
  EXPECT_EQ(number_of_mtp_layer(layout, 1), 4);
  EXPECT_EQ(kind_of_layer(layout, 0), LayerKind::Dense);
  EXPECT_EQ(kind_of_layer(layout, 2), LayerKind::Noop);
  EXPECT_EQ(kind_of_layer(layout, 3), LayerKind::Moe);
  EXPECT_EQ(kind_of_layer(layout, 4), LayerKind::Moe);
  EXPECT_EQ(hidden_states_behind(layout), (std::vector<int>{1, 2, 3, 3}));
  layout.layer_kinds = {LayerKind::Noop};
  EXPECT_EQ(kind_of_layer(layout, 1), LayerKind::Dense);
}

}  // namespace
}  // namespace weft
