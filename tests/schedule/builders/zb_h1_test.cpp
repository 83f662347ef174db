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
  return build_schedule("zb-h1", {.num_ranks = ranks, .num_micro_batches = micro_batches});
}

TEST(ZbH1, ThreeRanks) {
  EXPECT_EQ(print_csv(build(3, 4)),
            "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
            "1F0,1F1,1I0,1F2,1I1,1W0,1F3,1I2,1W1,1I3,1W2,1W3\n"
            "2F0,2I0,2F1,2I1,2F2,2I2,2W0,2F3,2I3,2W1,2W2,2W3\n");
}

TEST(ZbH1, FewerMicroBatchesThanRanks) {
  EXPECT_EQ(print_csv(build(3, 1)), "0F0,0I0,0W0\n1F0,1I0,1W0\n2F0,2I0,2W0\n");
}

// Every rank keeps what rank 0 of 1F1B keeps: P micro-batches, pending W's counted.
TEST(ZbH1, BubbleAndMemory) {
  for (const NaiveCosts& cost : {NaiveCosts{1, 1, 1, 3}, NaiveCosts{5, 4, 3, 12},
                                 NaiveCosts{2, 3, 2, 7}, NaiveCosts{7, 3, 1, 11}}) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 40; ++m) {
        SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m));
        const Schedule schedule = build(p, m);
        ASSERT_EQ(fault_of(schedule), "");
        const auto result = naive_run(schedule, cost);
        ASSERT_TRUE(result.finished);
        for (int r = 0; r < p; ++r) {
          if (m >= p) {
            EXPECT_EQ(result.idle(r), (p - 1) * (cost.forward + cost.dgrad - cost.wgrad));
          }
          EXPECT_EQ(result.ranks[r].peak_live, std::min(p - r, m));
          EXPECT_EQ(result.ranks[r].peak_pending, std::min(r + 1, m));
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
