#include "timeline/metrics.h"

#include <gtest/gtest.h>

#include "timeline/events.h"

namespace weft {
namespace {

// The peer starts the dispatch at 4: of the wait from 3 to 7, one unit is bubble (skew) and three
// are exposed; the last unit of the step, with nothing to do, is bubble.
TEST(Metrics, WaitIsBubbleUntilAllHaveStartedThenExposed) {
  const Timeline timeline{
      "units",
      {rank_of(0, 10,
               {step("0F0:attention.0", 0, 2), step("0F0:shared_expert.0", 2, 3),
                wire("0F0:dispatch.0", 2, 4, 7), step("wait(0F0:dispatch.0)", 3, 7),
                step("0F0:experts.0", 7, 9)})}};
  const TimelineMetrics metrics = measure(timeline);
  ASSERT_EQ(metrics.ranks.size(), 1u);
  const RankMetrics& rank = metrics.ranks[0];
  EXPECT_EQ(metrics.makespan, 10);
  EXPECT_EQ(rank.busy, 5);
  EXPECT_EQ(rank.idle, 5);
  EXPECT_EQ(rank.exposed_communication, 3);
  EXPECT_EQ(rank.bubble, 2);
  EXPECT_EQ(rank.all_to_all, 3);
  EXPECT_EQ(rank.all_to_all_exposed, 3);
  EXPECT_EQ(rank.p2p_exposed, 0);
  EXPECT_FALSE(metrics.all_to_all_hidden_steady.has_value());
  EXPECT_EQ(metrics.all_to_all_hidden_outside, 0);
}

TEST(Metrics, EachKindOfWireHasItsOwnSum) {
  const Timeline timeline{
      "units",
      {rank_of(0, 40,
               {wire("1RECV_F0", 0, 0, 3), step("wait(1RECV_F0)", 0, 3),
                wire("1F0:counts.0", 3, 3, 5), step("wait(1F0:counts.0)", 3, 5),
                wire("1F0:combine.0", 5, 5, 9), step("wait(1F0:combine.0)", 5, 9),
                wire("1REDUCE_GRAD", 9, 9, 20), step("wait(1REDUCE_GRAD)", 15, 20)})}};
  const RankMetrics rank = measure(timeline).ranks[0];
  EXPECT_EQ(rank.p2p_exposed, 3);
  EXPECT_EQ(rank.counts_exposed, 2);
  EXPECT_EQ(rank.all_to_all_exposed, 4);
  EXPECT_EQ(rank.reduce_exposed, 5);
  EXPECT_EQ(rank.exposed_communication, 14);
  EXPECT_EQ(rank.all_to_all, 4) << "counts are not an all-to-all";
  EXPECT_EQ(rank.bubble, 26);
}

// Steady is [2, 6): a wire that this rank issued at 5 belongs to it although it began at 7.
TEST(Metrics, AWireBelongsToThePhaseInWhichItWasIssued) {
  RankTimeline rank =
      rank_of(0, 20,
              {wire("0F0:dispatch.0", 1, 1, 3), wire("0F1:dispatch.0", 5, 7, 11),
               step("wait(0F1:dispatch.0)", 8, 9), wire("0F2:dispatch.0", 6, 11, 15),
               step("wait(0F2:dispatch.0)", 11, 14)});
  rank.steady_start = 2;
  rank.steady_end = 6;
  const TimelineMetrics metrics = measure({"units", {rank}});
  EXPECT_EQ(metrics.ranks[0].all_to_all, 10);
  EXPECT_EQ(metrics.ranks[0].all_to_all_steady, 4);
  EXPECT_EQ(metrics.ranks[0].all_to_all_exposed_steady, 1);
  EXPECT_EQ(metrics.all_to_all_hidden_steady, 0.75);
  EXPECT_EQ(metrics.all_to_all_hidden_outside, 0.5);
}

// 1 - (sum of exposed) / (sum of durations): ranks with longer wires weigh more.
TEST(Metrics, HiddenShareSumsOverRanks) {
  const auto rank = [](int number, double duration, double exposed) {
    return rank_of(number, 100,
                   {wire("0F0:dispatch.0", 0, 0, duration),
                    step("wait(0F0:dispatch.0)", duration - exposed, duration)});
  };
  const TimelineMetrics metrics = measure({"units", {rank(0, 2, 2), rank(1, 6, 0)}});
  EXPECT_EQ(metrics.all_to_all_hidden_outside, 0.75);
}

TEST(Metrics, NoWireGivesNoShare) {
  const TimelineMetrics metrics = measure({"units", {rank_of(0, 3, {cell("0F0", 0, 1)})}});
  EXPECT_FALSE(metrics.all_to_all_hidden_steady.has_value());
  EXPECT_FALSE(metrics.all_to_all_hidden_outside.has_value());
  EXPECT_EQ(metrics.ranks[0].bubble, 2);
}

TEST(MarkSteady, FromFirstToLastPair) {
  RankTimeline rank =
      rank_of(0, 20,
              {cell("0F0", 0, 1), cell("(0F1;0B0)OVERLAP_F_B", 2, 5), cell("0F2", 5, 6),
               cell("(0F3;0B1)OVERLAP_F_B", 7, 10), cell("0B2", 10, 12)});
  mark_steady(rank, {}, {});
  EXPECT_EQ(rank.steady_start, 2);
  EXPECT_EQ(rank.steady_end, 10);
}

TEST(MarkSteady, WithoutPairsFromFirstBackwardToLastForward) {
  RankTimeline rank = rank_of(0, 20,
                              {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0I0", 4, 5),
                               cell("0F2", 6, 7), cell("0W0", 7, 8), cell("0B1", 8, 10)});
  mark_steady(rank, {}, {});
  EXPECT_EQ(rank.steady_start, 4);
  EXPECT_EQ(rank.steady_end, 7);
}

TEST(MarkSteady, AllForwardsFirstHaveNoSteadyPhase) {
  RankTimeline rank = rank_of(0, 6, {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0B0", 2, 4)});
  mark_steady(rank, {}, {});
  EXPECT_FALSE(rank.steady_start.has_value());
  EXPECT_FALSE(rank.steady_end.has_value());
}

// The wait before the pair's first segment is not yet steady.
TEST(MarkSteady, StepsOfAPairBySpan) {
  const std::vector<std::string> texts = {"0F0:attention.0", "wait(0RECV_B0)", "0F1:attention.0",
                                          "0I0:attention.0", "0W0:attention.0"};
  std::vector<Step> steps;
  for (const std::string& text : texts) steps.push_back(parse_step(text));
  const std::vector<StepSpan> spans = {{parse_cell("0F0"), 0, 1},
                                       {parse_cell("(0F1;0B0)OVERLAP_F_B"), 1, 4}};
  RankTimeline rank = rank_of(0, 9, {});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    rank.events.push_back(step(texts[i], static_cast<double>(i), static_cast<double>(i) + 1));
  }
  mark_steady(rank, spans, steps);
  EXPECT_EQ(rank.steady_start, 2);
  EXPECT_EQ(rank.steady_end, 5);
}

TEST(LargestOverRanks, TakesEachNumberByItself) {
  TimelineMetrics metrics;
  RankMetrics a, b;
  a.busy = 5;
  a.bubble = 1;
  b.busy = 3;
  b.bubble = 2;
  b.reduce_exposed = 4;
  metrics.ranks = {a, b};
  const RankMetrics largest = largest_over_ranks(metrics);
  EXPECT_EQ(largest.busy, 5);
  EXPECT_EQ(largest.bubble, 2);
  EXPECT_EQ(largest.reduce_exposed, 4);
  EXPECT_EQ(largest.idle, 0);
}

}  // namespace
}  // namespace weft
