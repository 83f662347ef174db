#include <gtest/gtest.h>

#include <random>

#include "base/files.h"
#include "schedule/csv.h"
#include "schedule/naive_run.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::naive_run;
using testing::NaiveCosts;

Schedule build(int ranks, int micro_batches, bool detach) {
  return build_schedule("dualpipev",
                        {.num_ranks = ranks, .num_micro_batches = micro_batches, .detach = detach});
}

int count(const std::vector<Cell>& cells, ActionKind kind) {
  return static_cast<int>(std::count_if(cells.begin(), cells.end(), [&](const Cell& cell) {
    const auto* action = std::get_if<Action>(&cell);
    return action != nullptr && action->kind == kind;
  }));
}

int count_pairs(const std::vector<Cell>& cells) {
  return static_cast<int>(std::count_if(cells.begin(), cells.end(), [](const Cell& cell) {
    return std::holds_alternative<ActionPair>(cell);
  }));
}

TEST(DualPipeV, EqualsPyTorchCellForCell) {
  const std::string golden =
      read_file(WEFT_GOLDEN_DIR "/pytorch/dualpipev_4rank_10mb.csv", "golden");
  EXPECT_EQ(build(4, 10, true), parse_csv(golden, "golden"));
}

TEST(DualPipeV, WithoutDetachTheCoolDownIsPlain) {
  EXPECT_EQ(print_csv(build(2, 4, false)),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,"
            "(3F3;0B1)OVERLAP_F_B,3B3,0B2,0B3\n"
            "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,"
            "(2F3;1B1)OVERLAP_F_B,2B2,1B2,2B3,1B3\n");
}

TEST(DualPipeV, CountsOfThePhases) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p; m <= 40; ++m) {
      const Schedule plain = build(p, m, false);
      const Schedule detached = build(p, m, true);
      for (int r = 0; r < p; ++r) {
        SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m) + " rank " +
                     std::to_string(r));
        const int unwoven = r == p - 1 ? 1 : 0;
        const int pairs = 2 * (m - 2 * p + r + 1) - unwoven + (p - r - 1);
        EXPECT_EQ(count_pairs(plain.ranks[r]), pairs);
        // Phases 1, 2, 3 and the unwoven one; 3; 5, 6, 7 and the unwoven one.
        EXPECT_EQ(count(plain.ranks[r], ActionKind::Forward),
                  2 * (p - 1 - r) + 2 * (r + 1) + (p - r - 1) + unwoven);
        EXPECT_EQ(count(plain.ranks[r], ActionKind::Dgrad), p - r - 1);
        EXPECT_EQ(count(plain.ranks[r], ActionKind::Wgrad), p - r - 1);
        EXPECT_EQ(count(plain.ranks[r], ActionKind::Backward),
                  2 * (p - r - 1) + 2 * (r + 1) + unwoven);
        // Detached: the last P backwards are I, and r + 1 W's are left for phase 8.
        EXPECT_EQ(count_pairs(detached.ranks[r]), pairs);
        EXPECT_EQ(count(detached.ranks[r], ActionKind::Dgrad), (p - r - 1) + p);
        EXPECT_EQ(count(detached.ranks[r], ActionKind::Backward),
                  2 * (p - r - 1) + 2 * (r + 1) + unwoven - p);
        for (int i = 0; i < r + 1; ++i) {
          const Cell& cell = detached.ranks[r][detached.ranks[r].size() - 1 - i];
          EXPECT_EQ(std::get<Action>(cell).kind, ActionKind::Wgrad);
        }
        EXPECT_EQ(naive_run(detached).ranks[r].peak_pending, r + 1);
      }
    }
  }
}

TEST(DualPipeV, EveryMicroBatchRunsOnceAndNothingHangs) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 40; ++m) {
      for (const bool detach : {false, true}) {
        SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m));
        const Schedule schedule = build(p, m, detach);
        EXPECT_EQ(fault_of(schedule), "");
        const auto result = naive_run(schedule);
        EXPECT_TRUE(result.finished);
        for (const auto& rank : result.ranks) EXPECT_LE(rank.peak_live, 2 * p + 1);
      }
    }
  }
}

TEST(DualPipeV, PublishedPictureOfFourRanksAndTenMicroBatches) {
  const auto plain = naive_run(build(4, 10, false));
  const auto detached = naive_run(build(4, 10, true));
  EXPECT_EQ(plain.makespan, 72);
  EXPECT_EQ(detached.makespan, 66);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(plain.idle(r), 12);
    EXPECT_EQ(detached.idle(r), 6);
  }
}

// The closed form for M >= 2P: a bubble, and the work of the last rank. With detach it needs W <=
// I: a longer W in cool-down delays the input gradient that the next rank waits for.
long closed_form(int p, int m, const NaiveCosts& cost, bool detach) {
  const long f = cost.forward;
  const long i = cost.dgrad;
  const long b = cost.dgrad + cost.wgrad;
  const long correction = f >= i ? (p - 1) * (f - i) : -std::min(f, (p - 1) * (i - f));
  const long bubble = (p - 1) * (cost.pair + b - (detach ? 3 : 1) * cost.wgrad) + correction;
  return bubble + (2 * (m - p) - 1) * cost.pair + (2 * p + 1) * (f + b);
}

TEST(DualPipeV, ClosedFormOverRandomCosts) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto up_to = [&](int most) {
    return static_cast<long>(std::uniform_int_distribution<int>(1, most)(random));
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const int p = static_cast<int>(up_to(8));
    const int m = 2 * p - 1 + static_cast<int>(up_to(12));
    NaiveCosts cost{up_to(20), up_to(20), up_to(20), 0};
    const long shorter = std::max(cost.forward, cost.dgrad + cost.wgrad);
    cost.pair = shorter + up_to(30) - 1;
    for (const bool detach : {false, true}) {
      SCOPED_TRACE("P " + std::to_string(p) + " M " + std::to_string(m) + " F " +
                   std::to_string(cost.forward) + " I " + std::to_string(cost.dgrad) + " W " +
                   std::to_string(cost.wgrad) + " pair " + std::to_string(cost.pair));
      const long makespan = naive_run(build(p, m, detach), cost).makespan;
      if (detach && cost.wgrad > cost.dgrad) {
        EXPECT_GE(makespan, closed_form(p, m, cost, detach));
      } else {
        EXPECT_EQ(makespan, closed_form(p, m, cost, detach));
      }
    }
  }
}

// Dropping what does not exist from the next M that fits is the rule; detaching after it moves W's
// back, never an I.
TEST(DualPipeV, DetachIsNeverSlower) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      EXPECT_LE(naive_run(build(p, m, true)).makespan, naive_run(build(p, m, false)).makespan)
          << "P " << p << " M " << m;
    }
  }
}

}  // namespace
}  // namespace weft
