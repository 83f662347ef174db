#include "timeline/needs.h"

#include <gtest/gtest.h>

#include "timeline/events.h"
#include "timeline/tracks.h"

namespace weft {
namespace {

std::string need_of(const Timeline& timeline, std::size_t rank, std::size_t event) {
  const Need need = last_needs(timeline).at(rank).at(event);
  if (need.event == nullptr) return "-";
  return short_text(*need.event) + " of " + std::to_string(need.rank.value);
}

TEST(LastNeeds, TheOneThatEndsLast) {
  const Timeline timeline{
      "units",
      {rank_of(0, 9, {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0I0", 6, 7), cell("0W0", 7, 8)}),
       rank_of(1, 9, {cell("1F0", 1, 2), cell("(1F1;1B0)OVERLAP_F_B", 3, 6)})}};
  EXPECT_EQ(need_of(timeline, 0, 0), "-");
  EXPECT_EQ(need_of(timeline, 0, 2), "1F1;1B0 of 1");
  EXPECT_EQ(need_of(timeline, 0, 3), "0I0 of 0");
  EXPECT_EQ(need_of(timeline, 1, 0), "0F0 of 0");
  // 1F0, done at 2, as well as 0F1; the first of several that end together.
  EXPECT_EQ(need_of(timeline, 1, 1), "0F1 of 0");
}

TEST(LastNeeds, StepsHaveWaitsInstead) {
  const Timeline timeline{"ms", {rank_of(0, 9, {step("0F0:attention.0", 0, 1)})}};
  EXPECT_EQ(need_of(timeline, 0, 0), "-");
}

}  // namespace
}  // namespace weft
