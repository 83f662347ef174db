#include "timeline/phase_times.h"

#include <gtest/gtest.h>

#include <random>

#include "timeline/events.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

// Steady is [4, 8). The wait from 3 to 6 is bubble until its wire is under way at 3.5; what is
// exposed lies half a unit in warm-up and two in steady, but its wire was started in warm-up.
TEST(PhaseTimes, TimeIsCutAtTheEndsOfAPhaseAWireBelongsToOne) {
  RankTimeline rank =
      rank_of(0, 12,
              {step("0F0:attention.0", 0, 3), wire("0F0:dispatch.0", 2, 3.5, 6),
               step("wait(0F0:dispatch.0)", 3, 6), step("0F0:experts.0", 6, 9),
               wire("1RECV_F0", 9, 9, 10), step("wait(1RECV_F0)", 9, 10),
               wire("0REDUCE_GRAD", 10, 10, 11), step("wait(0REDUCE_GRAD)", 10, 11)});
  rank.steady_start = 4;
  rank.steady_end = 8;
  const TimesByPhase times = phase_times(rank);
  const auto of = [&times](Phase phase) { return times[static_cast<std::size_t>(phase)]; };

  const PhaseTimes warm_up = of(Phase::WarmUp);
  EXPECT_EQ(warm_up.length(), 4);
  EXPECT_EQ(warm_up[TimePart::Busy], 3);
  EXPECT_EQ(warm_up[TimePart::Bubble], 0.5);
  EXPECT_EQ(warm_up[TimePart::AllToAllExposed], 0.5);
  EXPECT_EQ(warm_up.all_to_all, 2.5);
  EXPECT_EQ(warm_up.all_to_all_waited, 2.5);

  const PhaseTimes steady = of(Phase::Steady);
  EXPECT_EQ(steady.length(), 4);
  EXPECT_EQ(steady[TimePart::Busy], 2);
  EXPECT_EQ(steady[TimePart::AllToAllExposed], 2);
  EXPECT_EQ(steady[TimePart::Bubble], 0);
  EXPECT_EQ(steady.all_to_all, 0);

  const PhaseTimes cool_down = of(Phase::CoolDown);
  EXPECT_EQ(cool_down[TimePart::Busy], 1);
  EXPECT_EQ(cool_down[TimePart::P2pExposed], 1);
  EXPECT_EQ(cool_down[TimePart::ReduceExposed], 1);
  EXPECT_EQ(cool_down[TimePart::Bubble], 1);
}

TEST(PhaseTimes, WithoutASteadyPhaseTheFirstBackwardEndsWarmUp) {
  const TimesByPhase times =
      phase_times(rank_of(0, 6, {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0B0", 3, 5)}));
  EXPECT_EQ(times[0].length(), 3);
  EXPECT_EQ(times[0][TimePart::Busy], 2);
  EXPECT_EQ(times[1].length(), 0);
  EXPECT_EQ(times[2].length(), 3);
  EXPECT_EQ(times[2][TimePart::Bubble], 1);
}

// Summed over phases the parts are those of measure().
TEST(PhaseTimes, AddUpToTheMetrics) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events;
    double time = 0;
    for (int i = 0; i < 10; ++i) {
      const std::string m = std::to_string(i);
      const double end = time + static_cast<double>(random() % 8) / 8;
      events.push_back(step("0F" + m + ":attention.0", time, end));
      const double begun = end + static_cast<double>(random() % 3) / 4;
      const double arrived = begun + static_cast<double>(random() % 9) / 8;
      events.push_back(wire("0F" + m + ":dispatch.0", end, begun, arrived));
      events.push_back(step("wait(0F" + m + ":dispatch.0)", end, arrived));
      time = arrived;
    }
    RankTimeline rank = rank_of(0, time + 1, std::move(events));
    if (round % 2 == 0) {
      rank.steady_start = time / 4;
      rank.steady_end = time / 2;
    }
    const RankMetrics metrics = measure({"ms", {rank}}).ranks[0];
    PhaseTimes sum;
    for (const PhaseTimes& phase : phase_times(rank)) sum += phase;
    ASSERT_DOUBLE_EQ(sum.length(), rank.end);
    ASSERT_DOUBLE_EQ(sum[TimePart::Busy], metrics.busy);
    ASSERT_DOUBLE_EQ(sum[TimePart::AllToAllExposed], metrics.all_to_all_exposed);
    ASSERT_DOUBLE_EQ(sum.all_to_all, metrics.all_to_all);
    ASSERT_DOUBLE_EQ(sum.all_to_all_waited, metrics.all_to_all_exposed);
    ASSERT_NEAR(sum[TimePart::Bubble], metrics.bubble, 1e-9);
  }
}

}  // namespace
}  // namespace weft
