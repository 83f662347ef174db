#include "timeline/grid.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(print_grid(two_ranks(), 19),
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

// Nothing divides these times: the shortest cell, 1.0000317 long, is a column.
TEST(Grid, MeasuredTimesAreApproximate) {
  const Timeline timeline{
      "ms", {rank_of(0, 4, {cell("0F0", 0, 1.0000317), cell("0B0", 1.0000317, 3.141592)})}};
  EXPECT_EQ(print_grid(timeline),
            "time    0   1   2\n"
            "rank 0  0F0 0B0----\n");
}

TEST(Grid, NothingToDraw) { EXPECT_EQ(print_grid(Timeline{"units", {rank_of(0, 0, {})}}), ""); }

}  // namespace
}  // namespace weft
