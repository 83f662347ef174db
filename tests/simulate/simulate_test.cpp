#include "simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "schedule/csv.h"
#include "schedule/registry.h"
#include "schedule/text.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

std::vector<RankMetrics> metrics_of(const Schedule& schedule, const Costs& costs) {
  return measure(simulate(schedule, costs)).ranks;
}

std::string refusal(const Schedule& schedule) {
  try {
    simulate(schedule, Costs{});
  } catch (const PlanError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Simulate, TwoRanksByHand) {
  const Schedule schedule = parse_csv("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "test");
  Costs costs;
  costs.stage = {2, 2, 1};
  costs.p2p = 1;
  const Timeline timeline = simulate(schedule, costs);
  const auto event = [](const char* text, double start, double end) {
    return Event{Lane::Compute, parse_cell(text), start, end, {}};
  };
  ASSERT_EQ(timeline.ranks.size(), 2u);
  EXPECT_EQ(timeline.ranks[0].events,
            (std::vector<Event>{event("0F0", 0, 2), event("0F1", 2, 4), event("0B0", 9, 12),
                                event("0B1", 14, 17)}));
  EXPECT_EQ(timeline.ranks[1].events,
            (std::vector<Event>{event("1F0", 3, 5), event("1B0", 5, 8), event("1F1", 8, 10),
                                event("1B1", 10, 13)}));
  EXPECT_EQ(timeline.ranks[0].end, 17);
  EXPECT_EQ(timeline.ranks[1].end, 17) << "idle counts to the makespan";
}

// The fold of a V lies on the last rank: no p2p between stages 1 and 2.
TEST(Simulate, HandOverOnOneRankCostsNothing) {
  const Schedule schedule{
      {2, 2, Placement::V},
      1,
      {{parse_cell("0F0"), parse_cell("3F0"), parse_cell("3B0"), parse_cell("0B0")},
       {parse_cell("1F0"), parse_cell("2F0"), parse_cell("2B0"), parse_cell("1B0")}}};
  Costs costs;
  costs.p2p = 10;
  // 0F 1, p2p, 1F 2F 2, p2p, 3F 3B 3, p2p, 2B 1B 4, p2p, 0B 2.
  EXPECT_EQ(measure(simulate(schedule, costs)).makespan, 1 + 10 + 2 + 10 + 3 + 10 + 4 + 10 + 2);
}

TEST(Simulate, PairCostsForwardAndFullBackwardUnlessGiven) {
  const Schedule schedule = parse_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "test");
  Costs costs;
  costs.stage = {2, 3, 5};
  EXPECT_EQ(measure(simulate(schedule, costs)).makespan, 2 + (2 + 8) + 8);
  costs.pair = 7;
  EXPECT_EQ(measure(simulate(schedule, costs)).makespan, 2 + 7 + 8);
}

TEST(Simulate, CostsPerStage) {
  const Schedule schedule = parse_csv("0F0,0B0\n1F0,1I0,1W0\n", "test");
  Costs costs;
  costs.stages[1] = {10, 20, 30};
  EXPECT_EQ(measure(simulate(schedule, costs)).makespan, 1 + 10 + 20 + 30);
}

// (P-1)(F+B): Narayanan et al., arXiv 2104.04473, section 2.2.1.
TEST(Simulate, BubbleOfGpipeAndOneFOneB) {
  Costs costs;
  costs.stage = {2, 3, 4};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const int micro_batches : {ranks, ranks + 1, 3 * ranks}) {
      BuildRequest request;
      request.num_ranks = ranks;
      request.num_micro_batches = micro_batches;
      for (const Schedule& schedule :
           {build_schedule("gpipe", request), build_schedule("1f1b", request)}) {
        for (const RankMetrics& rank : metrics_of(schedule, costs)) {
          EXPECT_EQ(rank.busy, micro_batches * 9);
          EXPECT_EQ(rank.idle, (ranks - 1) * 9);
          EXPECT_EQ(rank.bubble, rank.idle);
        }
      }
    }
  }
}

// The published order: 66 units, of which 6 idle on each rank; at most 2P+1 live chunks.
TEST(Simulate, DualPipeVWithDetachAsPublished) {
  const Schedule schedule = read_csv(WEFT_GOLDEN_DIR "/pytorch/dualpipev_4rank_10mb.csv");
  for (const RankMetrics& rank : metrics_of(schedule, Costs{})) {
    EXPECT_EQ(rank.busy, 60);
    EXPECT_EQ(rank.idle, 6);
  }
  const std::vector<LiveCounts> live = count_live(schedule);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_LE(live[static_cast<std::size_t>(rank)].peak_live_chunks, 9);
    EXPECT_EQ(live[static_cast<std::size_t>(rank)].max_pending_wgrads, rank + 1);
  }
  EXPECT_EQ(live[0].peak_live_chunks, 9);
}

TEST(Simulate, DualPipeVWithoutDetach) {
  BuildRequest request;
  request.num_ranks = 4;
  request.num_micro_batches = 10;
  for (const RankMetrics& rank : metrics_of(build_schedule("dualpipev", request), Costs{})) {
    EXPECT_EQ(rank.busy, 60);
    EXPECT_EQ(rank.idle, 12);
  }
}

// (P-1)(F&B+B-3W)+c with detach, (P-1)(F&B+B-W)+c without, for M >= 2P.
TEST(Simulate, DualPipeVClosedForm) {
  struct Sizes {
    double forward, dgrad, wgrad, pair;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 3}, Sizes{3, 2, 1, 5}, Sizes{2, 3, 1, 6}}) {
    Costs costs;
    costs.stage = {s.forward, s.dgrad, s.wgrad};
    costs.pair = s.pair;
    const double backward = s.dgrad + s.wgrad;
    for (const bool detach : {false, true}) {
      for (const int ranks : {2, 3, 4, 8}) {
        const int micro_batches = 2 * ranks + 3;
        BuildRequest request;
        request.num_ranks = ranks;
        request.num_micro_batches = micro_batches;
        request.detach = detach;
        const double c = s.forward >= s.dgrad
                             ? (ranks - 1) * (s.forward - s.dgrad)
                             : -std::min(s.forward, (ranks - 1) * (s.dgrad - s.forward));
        const double bubble = (ranks - 1) * (s.pair + backward - (detach ? 3 : 1) * s.wgrad) + c;
        const double work =
            (2 * (micro_batches - ranks) - 1) * s.pair + (2 * ranks + 1) * (s.forward + backward);
        EXPECT_EQ(measure(simulate(build_schedule("dualpipev", request), costs)).makespan,
                  work + bubble)
            << "P " << ranks << " detach " << detach << " F " << s.forward << " I " << s.dgrad;
      }
    }
  }
}

TEST(Simulate, MissingActionIsNamed) {
  EXPECT_EQ(refusal(parse_csv("0F0,0B0\n1B0\n", "test")), "verify_once: rank 1: 1F0 is missing");
}

// Rank 2 waits for the cycle of ranks 0 and 1 but is not part of it.
TEST(Simulate, CycleIsMinimal) {
  const std::string message =
      refusal(parse_csv("0F0,0B0,0F1,0B1\n"
                        "1F0,1F1,1B0,1B1\n"
                        "2F0,2B0,2F1,2B1\n",
                        "test"));
  EXPECT_EQ(message,
            "verify_data_flow: the order can never end: rank 0 cell 2 (0B0) needs rank 1 cell 3 "
            "(1B0), which comes after rank 1 cell 2 (1F1); rank 1 cell 2 (1F1) needs rank 0 cell 3 "
            "(0F1), which comes after rank 0 cell 2 (0B0)\n"
            "cell    1    2       3       4\n"
            "rank 0  0F0  [0B0]a  [0F1]d  0B1\n"
            "rank 1  1F0  [1F1]c  [1B0]b  1B1");
}

TEST(Simulate, ARankCanWaitForItself) {
  EXPECT_THAT(refusal(parse_csv("0W0,0F0,0I0\n", "test")),
              HasSubstr("rank 0 cell 1 (0W0) stands before its I, rank 0 cell 3 (0I0)"));
}

TEST(Simulate, MarksSteadyPhase) {
  const Timeline timeline = simulate(parse_csv("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "test"), Costs{});
  EXPECT_EQ(timeline.ranks[0].steady_start, 1);
  EXPECT_EQ(timeline.ranks[0].steady_end, 4);
}

}  // namespace
}  // namespace weft
