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
  return build_schedule("gpipe", {.num_ranks = ranks, .num_micro_batches = micro_batches});
}

TEST(GPipe, TwoRanks) {
  EXPECT_EQ(print_csv(build(2, 3)), "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n");
}

TEST(GPipe, BubbleAndMemory) {
  const NaiveCosts cost{5, 4, 3, 12};
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 40; ++m) {
      SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m));
      const Schedule schedule = build(p, m);
      ASSERT_EQ(fault_of(schedule), "");
      const auto result = naive_run(schedule, cost);
      ASSERT_TRUE(result.finished);
      for (int r = 0; r < p; ++r) {
        EXPECT_EQ(result.idle(r), (p - 1) * (5 + 4 + 3));
        EXPECT_EQ(result.ranks[r].peak_live, m);
      }
    }
  }
}

}  // namespace
}  // namespace weft
