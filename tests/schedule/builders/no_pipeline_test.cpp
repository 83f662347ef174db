#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "schedule/naive_run.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::naive_run;

Schedule build(int chunks, int micro_batches, bool overlap) {
  return build_schedule(
      "no-pipeline",
      {.chunks_per_rank = chunks, .num_micro_batches = micro_batches, .overlap = overlap});
}

TEST(NoPipeline, MicroBatchByMicroBatch) {
  EXPECT_EQ(print_csv(build(1, 3, false)), "0F0,0B0,0F1,0B1,0F2,0B2\n");
}

TEST(NoPipeline, WeavesTheNextForwardWithABackward) {
  EXPECT_EQ(print_csv(build(1, 3, true)), "0F0,(0F1;0B0)OVERLAP_F_B,(0F2;0B1)OVERLAP_F_B,0B2\n");
  EXPECT_EQ(print_csv(build(1, 1, true)), "0F0,0B0\n");
}

TEST(NoPipeline, SeveralChunksOnTheOneRank) {
  EXPECT_EQ(print_csv(build(2, 2, true)),
            "0F0,1F0,(0F1;1B0)OVERLAP_F_B,(1F1;0B0)OVERLAP_F_B,1B1,0B1\n");
}

TEST(NoPipeline, EveryMicroBatchRunsOnceAndNothingHangs) {
  for (int chunks = 1; chunks <= 4; ++chunks) {
    for (int m = 1; m <= 40; ++m) {
      for (const bool overlap : {false, true}) {
        const Schedule schedule = build(chunks, m, overlap);
        EXPECT_EQ(fault_of(schedule), "");
        EXPECT_TRUE(naive_run(schedule).finished);
      }
    }
  }
}

}  // namespace
}  // namespace weft
