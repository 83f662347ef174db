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
  return build_schedule("1f1b", {.num_ranks = ranks, .num_micro_batches = micro_batches});
}

TEST(OneFOneB, ThreeRanks) {
  EXPECT_EQ(print_csv(build(3, 4)),
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
            "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
            "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");
}

TEST(OneFOneB, FewerMicroBatchesThanRanks) {
  EXPECT_EQ(print_csv(build(3, 1)), "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
}

TEST(OneFOneB, BubbleAndMemory) {
  const NaiveCosts cost{5, 4, 3, 12};
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 40; ++m) {
      const Schedule schedule = build(p, m);
      EXPECT_EQ(fault_of(schedule), "");
      const auto result = naive_run(schedule, cost);
      ASSERT_TRUE(result.finished);
      for (int r = 0; r < p; ++r) {
        EXPECT_EQ(result.idle(r), (p - 1) * (5 + 4 + 3)) << "P " << p << " M " << m;
        EXPECT_EQ(result.ranks[r].peak_live, std::min(p - r, m));
      }
    }
  }
}

}  // namespace
}  // namespace weft
