#include "timeline/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

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

TEST(Grid, SaysThatCellsTakeNoTime) {
  EXPECT_EQ(print_grid(Timeline{"units", {rank_of(0, 0, {cell("0F0", 0, 0), cell("0B0", 0, 0)})}}),
            "nothing to draw: all costs are 0, of 2 cells none takes any time\n");
  EXPECT_EQ(
      print_grid(Timeline{
          "units", {rank_of(0, 2, {cell("0F0", 0, 1), cell("0I0", 1, 2), cell("0W0", 2, 2)})}}),
      "time    0   1\n"
      "rank 0  0F0 0I0\n"
      "1 cell takes no time and is not drawn\n");
}

// To scale 0F0 would take 4 characters and 0B0 four million.
TEST(Grid, WhatIsFarTooLongKeepsTheOrderAlone) {
  const Timeline timeline{"units",
                          {rank_of(0, 0, {cell("0F0", 0, 0.001), cell("0B0", 0.001, 1000)}),
                           rank_of(1, 0, {cell("1F0", 0.001, 0.002), cell("1F1", 0.002, 0.003)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0   0.001\n"
            "rank 0  0F0 0B0------\n"
            "rank 1  .   1F0 1F1 .\n"
            "not to scale: columns follow the order of starts and ends\n");
}

// 24 characters leave 16: the pair, at 12, has 4 of its 8 before the fold.
TEST(Grid, ACellWhoseTextDoesNotFitStandsInTheNextBlock) {
  const Timeline timeline{"units",
                          {rank_of(0, 0,
                                   {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0F2", 2, 3),
                                    cell("(0F3;0B0)OVERLAP_F_B", 3, 5), cell("0B1", 5, 6)}),
                           rank_of(1, 0, {cell("1F0", 1, 2), cell("1B0", 2, 6)})}};
  EXPECT_EQ(print_grid(timeline, 24),
            "time    0   1   2   3\n"
            "rank 0  0F0 0F1 0F2\n"
            "rank 1  .   1F0 1B0-----\n"
            "\n"
            "time    3   4   5\n"
            "rank 0  0F3;0B0 0B1\n"
            "rank 1      -------\n");
}

TEST(Grid, LinesOverAndUnderARow) {
  const std::vector<GridRow> rows = {
      {"rank 0", {{0, 1, "0F0", "", "0F0"}, {1, 3, "0B0", "0B0 0B1", ""}}, "receive", "send"}};
  EXPECT_EQ(print_grid(rows),
            "time     0   1   2\n"
            "receive      0B0 0B1\n"
            "rank 0   0F0 0B0----\n"
            "send     0F0\n");
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("rank ")) continue;
    std::istringstream cells(line);
    std::string word;
    cells >> word >> word;
    while (cells >> word) {
      word.erase(std::min(word.find('-'), word.size()));
      if (!word.empty() && word != ".") words.push_back(word);
    }
  }
  std::sort(words.begin(), words.end());
  return words;
}

// Whatever the times and however often the grid is folded: each name is there once, as it is.
TEST(Grid, EveryNameIsWholeAndThereOnce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline{"units", {}};
    const double grain = round % 4 == 0 ? 1 : round % 4 == 1 ? 0.1 : 0.0137;
    std::vector<std::string> names;
    for (int r = 0; r < 4; ++r) {
      double time = static_cast<double>(random() % 5) * grain;
      RankTimeline rank = rank_of(r, 0, {});
      for (int i = 0; i < 60; ++i) {
        const bool huge = round % 4 == 3 && random() % 20 == 0;
        const double length = static_cast<double>(1 + random() % 9) * grain * (huge ? 1e6 : 1);
        const std::string number = std::to_string(1000 * r + i);
        const bool pair = random() % 3 == 0;
        names.push_back(pair ? "7F" + number + ";0B" + number : "31F" + number);
        rank.events.push_back(
            cell(pair ? "(7F" + number + ";0B" + number + ")OVERLAP_F_B" : "31F" + number, time,
                 time + length));
        time += length + static_cast<double>(random() % 3) * grain;
      }
      timeline.ranks.push_back(std::move(rank));
    }
    std::sort(names.begin(), names.end());
    for (const int width : {80, 40, 131}) {
      const std::string text = print_grid(timeline, width);
      ASSERT_EQ(words_of(text), names) << text;
      ASSERT_LE(longest_line(text), static_cast<std::size_t>(width));
      ASSERT_LE(text.size(), 4U * 60U * 400U);  // it ends, and in proportion to the cells
    }
  }
}

}  // namespace
}  // namespace weft
