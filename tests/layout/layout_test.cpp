#include "layout/layout.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Layout, StageText) {
  EXPECT_EQ(stage_text({true, {0, 1}, {}, false}), "Ett");
  EXPECT_EQ(stage_text({false, {7}, {0}, true}), "tmL");
  EXPECT_EQ(stage_text({}), "");
}

}  // namespace
}  // namespace weft
