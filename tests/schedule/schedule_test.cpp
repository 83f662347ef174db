#include "schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "schedule/text.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> falling(const std::string& csv) {
  std::vector<std::string> texts;
  for (const auto& [first, second] : falling_wgrads(parse_csv(csv, "test"))) {
    texts.push_back(print(first) + " " + print(second));
  }
  return texts;
}

TEST(Schedule, ComputeLevelDropsTransfers) {
  const Schedule lowered = parse_csv(
      "0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n", "test");
  EXPECT_FALSE(is_compute_level(lowered));
  EXPECT_EQ(compute_level(lowered), parse_csv("0F0,0B0\n1F0,1B0\n", "test"));
  EXPECT_TRUE(is_compute_level(compute_level(lowered)));
}

TEST(Schedule, Pairs) {
  EXPECT_TRUE(has_pairs(parse_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "test")));
  EXPECT_FALSE(has_pairs(parse_csv("0F0,0F1,0B0,0B1\n", "test")));
}

// The order of the I's does not matter; a B counts as its W.
TEST(Schedule, WgradsThatFallAreNamedOncePerStage) {
  EXPECT_THAT(falling("0F0,0F1,0I1,0I0,0W0,0W1\n"), IsEmpty());
  EXPECT_THAT(falling("0F0,0F1,0F2,0B2,0B0,0B1\n1F0,1F1,1F2,1I1,1I0,1W0,1B2,1W1\n"),
              ElementsAre("0B2 0B0", "1B2 1W1"));
  EXPECT_THAT(falling("0F0,0F1,0B1,1F0,1F1,1B1,(0F2;1B0)OVERLAP_F_B,0B0,1F2,1B2,0B2\n"),
              ElementsAre("0B1 0B0", "1B1 1B0"));
}

}  // namespace
}  // namespace weft
