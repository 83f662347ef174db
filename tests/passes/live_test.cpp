#include "passes/live.h"

#include <gtest/gtest.h>

#include "schedule/csv.h"

namespace weft {
namespace {

std::vector<LiveCounts> counts_of(const char* csv) { return count_live(parse_csv(csv, "test")); }

TEST(CountLive, FromForwardToBackward) {
  EXPECT_EQ(counts_of("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n"),
            (std::vector<LiveCounts>{{3, 0}, {1, 0}}));
}

// Ends count before starts: the I frees its activation before the next F takes one.
TEST(CountLive, SplitBackwardFreesAtItsDgrad) {
  EXPECT_EQ(counts_of("0F0,0F1,0I0,0F2,0I1,0I2,0W0,0W1,0W2\n"), (std::vector<LiveCounts>{{2, 3}}));
}

// In a pair both micro-batches are live at once.
TEST(CountLive, PairHoldsBoth) {
  EXPECT_EQ(counts_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"), (std::vector<LiveCounts>{{2, 0}}));
}

// An activation of 10 of which a W keeps 4: 10, 20 while the I runs, 14 after it; the W frees its 4
// when it ends.
TEST(HeldByCell, BytesOfActivationsAndOfPendingWgrads) {
  const Schedule schedule = parse_csv("0F0,0F1,0I0,0B1,0W0\n", "test");
  EXPECT_EQ(held_by_cell(schedule, {{10, 4}}),
            (std::vector<std::vector<Held>>{
                {{1, 0, 10}, {2, 0, 20}, {2, 1, 20}, {1, 1, 14}, {0, 0, 4}}}));
}

}  // namespace
}  // namespace weft
