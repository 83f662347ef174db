#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "schedule/naive_run.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::naive_run;

Schedule build(int ranks, int micro_batches) {
  return build_schedule("zb-v", {.num_ranks = ranks, .num_micro_batches = micro_batches});
}

TEST(ZbV, TwoRanks) {
  EXPECT_EQ(print_csv(build(2, 4)),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,"
            "0I1,0W1,3F3,3I3,3W3,0I2,0W2,0I3,0W3\n"
            "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,"
            "1F3,1I1,1W1,2F3,2I2,2W2,1I2,2I3,1I3,1W2,2W3,1W3\n");
}

// For fewer than 2P-1 micro-batches those that do not exist are dropped.
TEST(ZbV, FewMicroBatches) {
  EXPECT_EQ(print_csv(build(2, 1)), "0F0,3F0,3I0,3W0,0I0,0W0\n1F0,2F0,2I0,2W0,1I0,1W0\n");
}

// No rank waits once it has begun, so the ends of the ranks are all that is left; and at most the
// memory of 1F1B's rank 0: P micro-batches of two chunks each, pending W's apart.
TEST(ZbV, BubbleAndMemory) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 40; ++m) {
      SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m));
      const Schedule schedule = build(p, m);
      ASSERT_EQ(fault_of(schedule), "");
      const auto result = naive_run(schedule);
      ASSERT_TRUE(result.finished);
      for (int r = 0; r < p; ++r) {
        if (m >= 2 * p - 1) {
          EXPECT_EQ(result.idle_within(r), 0) << "rank " << r;
          EXPECT_EQ(result.makespan, 6 * m + p - 1);
        }
        EXPECT_LE(result.ranks[r].peak_live, std::min(2 * p, 2 * m));
      }
    }
  }
}

}  // namespace
}  // namespace weft
