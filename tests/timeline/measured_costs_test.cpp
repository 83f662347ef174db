#include "timeline/measured_costs.h"

#include <gtest/gtest.h>

#include "timeline/events.h"

namespace weft {
namespace {

// Layer 0 is dense, layers 1 and 2 have wires and so are MoE. By hand: stage 0 has two forwards of
// 1 + 3 and 7 (5.5), stage 1 one of 5; the one dgrad of stage 0, 2, is spread over both.
TEST(MeasuredCosts, MeanOfEachPartOverStepsAndRanks) {
  const Timeline first{"ms",
                       {rank_of(0, 9,
                                {step("0F0:attention.0", 0, 1), step("0F0:attention.1", 1, 4),
                                 step("0I0:experts.1", 4, 6), wire("0F0:dispatch.1", 1, 2, 4)}),
                        rank_of(1, 9,
                                {step("1F0:attention.2", 0, 5), step("wait(1F0:dispatch.2)", 5, 9),
                                 wire("1F0:dispatch.2", 0, 3, 9)})}};
  const Timeline second{"ms", {rank_of(0, 9, {step("0F0:attention.1", 0, 7)})}};
  const Costs costs = costs_from_timelines({first, second});

  Costs expected;
  expected.unit = "ms";
  expected.stages[0] = {5.5, 1, 0};
  expected.stages[1] = {5, 0, 0};
  expected.stage = {5.25, 0.5, 0};
  expected.segments[{SegmentKind::Attention, false}] = {1, 0, 0};
  expected.segments[{SegmentKind::Attention, true}] = {5, 0, 0};
  expected.segments[{SegmentKind::Experts, true}] = {0, 2, 0};
  expected.wires[WireKind::Dispatch] = 4;
  EXPECT_EQ(costs, expected);
}

}  // namespace
}  // namespace weft
