#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "schedule/naive_run.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::naive_run;
using testing::NaiveCosts;

Schedule build(const BuildRequest& request) { return build_schedule("interleaved", request); }

// Forwards before the first backward or pair.
int warm_up(const std::vector<Cell>& cells) {
  int count = 0;
  for (const Cell& cell : cells) {
    const auto* action = std::get_if<Action>(&cell);
    if (action == nullptr || action->kind != ActionKind::Forward) break;
    ++count;
  }
  return count;
}

TEST(Interleaved, TwoRanksTwoChunks) {
  EXPECT_EQ(print_csv(build({.num_ranks = 2, .chunks_per_rank = 2, .num_micro_batches = 4})),
            "0F0,0F1,2F0,2F1,0F2,2B0,0F3,2B1,2F2,0B0,2F3,0B1,2B2,2B3,0B2,0B3\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1F2,1B0,1F3,1B1,3F2,3B2,3F3,3B3,1B2,1B3\n");
}

TEST(Interleaved, OverlapPairsAStepWithOneMoreMicroBatchOfWarmUp) {
  EXPECT_EQ(print_csv(build(
                {.num_ranks = 2, .chunks_per_rank = 2, .num_micro_batches = 4, .overlap = true})),
            "0F0,0F1,2F0,2F1,0F2,(0F3;2B0)OVERLAP_F_B,(2F2;2B1)OVERLAP_F_B,"
            "(2F3;0B0)OVERLAP_F_B,0B1,2B2,2B3,0B2,0B3\n"
            "1F0,1F1,3F0,(3F1;3B0)OVERLAP_F_B,(1F2;3B1)OVERLAP_F_B,(1F3;1B0)OVERLAP_F_B,"
            "(3F2;1B1)OVERLAP_F_B,(3F3;3B2)OVERLAP_F_B,3B3,1B2,1B3\n");
}

TEST(Interleaved, WarmUpAsMegatronCountsIt) {
  for (int p = 1; p <= 8; ++p) {
    for (int v = 2; v <= 4; ++v) {
      for (const int g : {p, p + 2, 2 * p}) {
        for (const bool overlap : {false, true}) {
          const int m = 4 * g;
          const Schedule schedule = build({.num_ranks = p,
                                           .chunks_per_rank = v,
                                           .num_micro_batches = m,
                                           .group_size = g,
                                           .overlap = overlap});
          for (int r = 0; r < p; ++r) {
            // Without pairs a steady step begins with a forward of its own.
            const int steps = 2 * (p - r - 1) + (v - 1) * g + 1;
            EXPECT_EQ(warm_up(schedule.ranks[r]), std::min(steps, m * v))
                << "P " << p << " v " << v << " g " << g << " rank " << r;
          }
        }
      }
    }
  }
}

TEST(Interleaved, BubbleOfFullGroups) {
  const NaiveCosts cost{5, 4, 3, 12};
  for (int p = 1; p <= 8; ++p) {
    for (int v = 1; v <= 4; ++v) {
      for (int m = p; m <= 40; m += p) {
        const auto result =
            naive_run(build({.num_ranks = p, .chunks_per_rank = v, .num_micro_batches = m}), cost);
        for (int r = 0; r < p; ++r) {
          EXPECT_EQ(result.idle(r), (p - 1) * (5 + 4 + 3)) << "P " << p << " v " << v << " M " << m;
        }
      }
    }
  }
}

TEST(Interleaved, EveryMicroBatchRunsOnceAndNothingHangs) {
  for (int p = 1; p <= 8; ++p) {
    for (int v = 1; v <= 4; ++v) {
      for (int m = 1; m <= 40; ++m) {
        for (const int g : {1, 2, 3, p, p + 1, 2 * p, 64}) {
          for (const bool overlap : {false, true}) {
            SCOPED_TRACE("P " + std::to_string(p) + " v " + std::to_string(v) + " M " +
                         std::to_string(m) + " g " + std::to_string(g) +
                         (overlap ? " overlap" : ""));
            const Schedule schedule = build({.num_ranks = p,
                                             .chunks_per_rank = v,
                                             .num_micro_batches = m,
                                             .group_size = g,
                                             .overlap = overlap});
            ASSERT_EQ(fault_of(schedule), "");
            ASSERT_TRUE(naive_run(schedule).finished);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
