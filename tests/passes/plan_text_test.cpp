#include "passes/plan_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "schedule/csv.h"
#include "schedule/registry.h"

namespace weft {
namespace {

TEST(PlanText, NamesAndMarksPlaces) {
  const Schedule schedule = parse_csv("0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n", "test");
  const PlanText text(schedule);
  EXPECT_EQ(text.name({1, 2}), "rank 1 cell 3 (1B0)");
  EXPECT_EQ(text.grid({{0, 1}, {1, 2}, {1, 0}, {0, 2}}),
            "cell    1       2       3       4\n"
            "rank 0  0F0     [0B0]a  [0F1]d  0B1\n"
            "rank 1  [1F1]c  1F0     [1B0]b  1B1");
}

// A place that is given twice has one letter; rows without a place and columns far from one are
// left out.
TEST(PlanText, LeavesOutWhatIsFarAway) {
  const Schedule schedule =
      parse_csv("0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n", "test");
  EXPECT_EQ(PlanText(schedule).grid({{0, 0}, {0, 0}, {0, 6}}),
            "cell    1       2    ..  6    7       8\n"
            "rank 0  [0F0]a  0F1      0B1  [0B2]b  0B3");
}

// A mark on each of 40 ranks, each at another place: more letters than there are, and more columns
// than fit.
TEST(PlanText, Folds) {
  const Schedule schedule = build_schedule("1f1b", {.num_ranks = 40, .num_micro_batches = 60});
  std::vector<Place> marked;
  for (int rank = 0; rank < 40; ++rank) marked.push_back({rank, 2 * rank});
  const std::string grid = PlanText(schedule).grid(marked);
  EXPECT_NE(grid.find("]an"), std::string::npos);
  std::istringstream lines(grid);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    rows += line.starts_with("rank");
  }
  EXPECT_EQ(rows, 40);
}

}  // namespace
}  // namespace weft
