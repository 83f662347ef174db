#include "timeline/measured_costs.h"

#include <gtest/gtest.h>

#include "timeline/events.h"

namespace weft {
namespace {

TEST(MeasuredCosts, MeanOfEachPartOverStepsAndRanks) {
  Layout layout;
  layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe, LayerKind::Moe};
  const Timeline first{"ms",
                       {rank_of(0, 9,
                                {step("0F0:attention.0", 0, 1), step("0F0:attention.1", 1, 4),
                                 step("0I0:experts.1", 4, 6), wire("0F0:dispatch.1", 1, 2, 4)}),
                        rank_of(1, 9,
                                {step("1F0:attention.2", 0, 5), step("wait(1F0:dispatch.2)", 5, 9),
                                 wire("1F0:dispatch.2", 0, 3, 9)})}};
  const Timeline second{"ms", {rank_of(0, 9, {step("0F0:attention.1", 0, 7)})}};
  const Costs costs = costs_from_timelines({first, second}, layout);

  Costs expected;
  expected.unit = "ms";
  expected.segments[{SegmentKind::Attention, false}] = {1, 0, 0};
  expected.segments[{SegmentKind::Attention, true}] = {5, 0, 0};
  expected.segments[{SegmentKind::Experts, true}] = {0, 2, 0};
  expected.wires[WireKind::Dispatch] = 4;
  EXPECT_EQ(costs, expected);
}

}  // namespace
}  // namespace weft
