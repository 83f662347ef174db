#include "timeline/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "timeline/events.h"

namespace weft {
namespace {

Timeline two_ranks() {
  return {"units",
          {rank_of(0, 6, {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0B0", 4, 6)}),
           rank_of(1, 6, {cell("1F0", 1, 2), cell("1B0", 2, 4), cell("1F1", 4, 5)})}};
}

TEST(Grid, ARowPerRankAColumnPerUnit) {
  EXPECT_EQ(print_grid(two_ranks()),
            "time    0   1   2   3   4   5\n"
            "rank 0  0F0 0F1 .   .   0B0----\n"
            "rank 1  .   1F0 1B0---- 1F1 .\n");
}

TEST(Grid, FoldsAtTheWidth) {
  EXPECT_EQ(print_grid(two_ranks(), 20),
            "time    0   1   2\n"
            "rank 0  0F0 0F1 .\n"
            "rank 1  .   1F0 1B0-\n"
            "\n"
            "time    3   4   5\n"
            "rank 0  .   0B0----\n"
            "rank 1  --- 1F1 .\n");
}

TEST(Grid, PairsAndAColumnThatIsNotOne) {
  const Timeline timeline{"ms",
                          {rank_of(0, 10,
                                   {cell("0F0", 0, 2.5), cell("(0F1;0B0)OVERLAP_F_B", 2.5, 7.5),
                                    cell("0B1", 7.5, 10)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0   2.5 5   7.5\n"
            "rank 0  0F0 0F1;0B0 0B1\n");
}

// Nothing divides these times: 0F0, 1.0000317 long, takes the four characters of its label and a
// space, so that 0B0, 2.14156 long, takes nine less one by rounding its ends (12.57 to 13).
TEST(Grid, MeasuredTimesAreDrawnToScale) {
  const Timeline timeline{
      "ms", {rank_of(0, 4, {cell("0F0", 0, 1.0000317), cell("0B0", 1.0000317, 3.141592)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0       2\n"
            "rank 0  0F0 0B0-----\n");
}

// A column per unit would be 31 columns of two characters; to scale 2.5 units are a character.
TEST(Grid, ASmallUnitIsDrawnToScale) {
  const Timeline timeline{"units", {rank_of(0, 31, {cell("0F0", 0, 10), cell("0B0", 10, 31)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0       20\n"
            "rank 0  0F0 0B0----\n");
}

TEST(Grid, GapsToScaleAreDotted) {
  const Timeline timeline{"ms", {rank_of(0, 4, {cell("0F0", 1.01, 1.26), cell("0B0", 2, 2.333)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0       0.5     1       1.5     2\n"
            "rank 0  .   .   .   .   0F0 .   .   .   0B0-\n");
}

// A column is as wide as the longest label, not longer in time for a short one.
TEST(Grid, ACellOfOneColumnIsNotDrawnOut) {
  const Timeline timeline{
      "units", {rank_of(0, 4, {cell("0F9", 0, 1), cell("0F10", 1, 2), cell("0B9", 2, 4)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0    1    2    3\n"
            "rank 0  0F9  0F10 0B9------\n");
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  return longest;
}

// Random times and labels of up to 13 characters on ranks with two digits: no line is too long,
// and every rank stands in every block.
TEST(Grid, NoLineIsLongerThanTheWidth) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    Timeline timeline{"ms", {}};
    const double grain = round % 3 == 0 ? 1 : round % 3 == 1 ? 0.25 : 0.0137;
    for (int r = 8; r < 12; ++r) {
      double time = static_cast<double>(random() % 5) * grain;
      RankTimeline rank = rank_of(r, 0, {});
      for (int i = 0; i < 12; ++i) {
        const double end = time + static_cast<double>(1 + random() % 90) * grain;
        const std::string number = std::to_string(random() % 1000);
        rank.events.push_back(
            random() % 2 == 0 ? cell("31F" + number, time, end)
                              : cell("(31F" + number + ";0B" + number + ")OVERLAP_F_B", time, end));
        time = end + static_cast<double>(random() % 3) * grain;
      }
      timeline.ranks.push_back(std::move(rank));
    }
    const std::string text = print_grid(timeline);
    ASSERT_LE(longest_line(text), 80U) << text;
    ASSERT_EQ(text.find("\n\n\n"), std::string::npos);
    ASSERT_LE(longest_line(print_grid(timeline, 33)), 33U);
  }
}

// A label wider than the line is cut, not the line broken.
TEST(Grid, ALabelWiderThanTheLineIsCut) {
  const Timeline timeline{
      "units", {rank_of(0, 1, {cell("(123456F1234567;123456B1234567)OVERLAP_F_B", 0, 1)})}};
  EXPECT_EQ(print_grid(timeline, 24),
            "time    0\n"
            "rank 0  123456F1234567;\n");
}

TEST(Grid, NothingToDraw) { EXPECT_EQ(print_grid(Timeline{"units", {rank_of(0, 0, {})}}), ""); }

}  // namespace
}  // namespace weft
