#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "schedule/naive_run.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::naive_run;
using testing::NaiveCosts;

Schedule build(int ranks, int micro_batches) {
  return build_schedule("zb-h2", {.num_ranks = ranks, .num_micro_batches = micro_batches});
}

TEST(ZbH2, TwoRanks) {
  EXPECT_EQ(print_csv(build(2, 4)),
            "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
            "1F0,1I0,1F1,1I1,1F2,1I2,1W0,1F3,1I3,1W1,1W2,1W3\n");
}

// The bubble of the paper is that within a rank: ranks start and end one after the other.
TEST(ZbH2, BubbleAndMemory) {
  for (const NaiveCosts& cost : {NaiveCosts{1, 1, 1, 3}, NaiveCosts{5, 4, 3, 12},
                                 NaiveCosts{2, 3, 2, 7}, NaiveCosts{7, 3, 1, 11}}) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 40; ++m) {
        SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m));
        const Schedule schedule = build(p, m);
        ASSERT_EQ(fault_of(schedule), "");
        const auto result = naive_run(schedule, cost);
        ASSERT_TRUE(result.finished);
        long longest = 0;
        for (int r = 0; r < p; ++r) {
          longest = std::max(longest, result.idle_within(r));
          EXPECT_EQ(result.ranks[r].peak_live, std::min(2 * (p - r) - 1, m));
          EXPECT_EQ(result.ranks[r].peak_pending, std::min(2 * r + 1, m));
        }
        if (m >= 2 * p - 1) {
          EXPECT_EQ(longest, (p - 1) * (cost.forward + cost.dgrad - 2 * cost.wgrad));
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
