#include "costs/costs.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Costs, StageOverridesTheDefault) {
  Costs costs;
  costs.stage = {2, 3, 4};
  costs.stages[5] = {7, 8, 9};
  EXPECT_EQ(costs.of_stage(Stage(0)), (StageCost{2, 3, 4}));
  EXPECT_EQ(costs.of_stage(Stage(5)), (StageCost{7, 8, 9}));
}

TEST(Costs, EmptyTablesStandForTheDefaults) {
  const Costs costs;
  EXPECT_EQ(costs.of_segment({SegmentKind::Experts, true}),
            default_costs().segments.at({SegmentKind::Experts, true}));
  EXPECT_EQ(costs.of_wire(WireKind::Dispatch), default_costs().wires.at(WireKind::Dispatch));
}

TEST(Costs, UnnamedWireTakesAsLongAsItsMirror) {
  Costs costs;
  costs.p2p = 3;
  costs.wires = {{WireKind::Dispatch, 5}, {WireKind::CombineBackward, 7}};
  EXPECT_EQ(costs.of_wire(WireKind::DispatchBackward), 5);
  EXPECT_EQ(costs.of_wire(WireKind::Combine), 7);
  EXPECT_EQ(costs.of_wire(WireKind::RecvBackward), 3) << "a hand-over without a mirror is p2p";
  EXPECT_EQ(costs.of_wire(WireKind::Counts), 0);
  EXPECT_EQ(costs.of_wire(WireKind::ReduceGrad), 0);

  costs.wires = {{WireKind::Dispatch, 5}, {WireKind::RecvForward, 2}};
  EXPECT_EQ(costs.of_wire(WireKind::CombineBackward), 5) << "one all-to-all stands for all four";
  EXPECT_EQ(costs.of_wire(WireKind::SendBackward), 2);
}

TEST(Costs, UnnamedSegmentOfANonEmptyTableTakesNoTime) {
  Costs costs;
  costs.segments[{SegmentKind::Mlp, false}] = {4, 5, 6};
  EXPECT_EQ(costs.of_segment({SegmentKind::Mlp, true}), (SegmentCost{4, 5, 6}));
  EXPECT_EQ(costs.of_segment({SegmentKind::Head, false}), (SegmentCost{0, 0, 0}));
}

TEST(Costs, UnnamedHeadOfAnMtpLayerTakesAsLongAsTheHead) {
  Costs costs;
  costs.segments[{SegmentKind::Head, false}] = {4, 5, 6};
  EXPECT_EQ(costs.of_segment({SegmentKind::MtpHead, false}), (SegmentCost{4, 5, 6}));
  EXPECT_EQ(costs.of_segment({SegmentKind::MtpProjection, false}), (SegmentCost{0, 0, 0}));
  costs.segments[{SegmentKind::MtpHead, false}] = {7, 8, 9};
  EXPECT_EQ(costs.of_segment({SegmentKind::MtpHead, false}), (SegmentCost{7, 8, 9}));
}

TEST(Costs, KeyOfASegmentKnowsItsLayer) {
  Layout layout;
  layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe};
  const auto key = [&](SegmentKind kind, int layer) {
    return key_of(layout, Segment{kind, Stage(0), layer, MicroBatch(0)});
  };
  EXPECT_EQ(key(SegmentKind::Attention, 0), (SegmentKey{SegmentKind::Attention, false}));
  EXPECT_EQ(key(SegmentKind::Attention, 1), (SegmentKey{SegmentKind::Attention, true}));
  EXPECT_EQ(key(SegmentKind::Experts, 1), (SegmentKey{SegmentKind::Experts, true}));
  EXPECT_EQ(key(SegmentKind::Head, -1), (SegmentKey{SegmentKind::Head, false}));
  EXPECT_EQ(key(SegmentKind::Attention, 2), (SegmentKey{SegmentKind::Attention, true}))
      << "an MTP layer is as the last layer";
  EXPECT_EQ(key(SegmentKind::MtpHead, 2), (SegmentKey{SegmentKind::MtpHead, false}));
}

// One dense and one MoE layer on two stages.
TEST(Costs, SaysWhatAFileLeavesOut) {
  Layout layout;
  layout.map = {2, 1, Placement::Looped};
  layout.stages.resize(2);
  layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe};
  EXPECT_TRUE(cost_gaps(Costs{}, layout).empty());
  EXPECT_TRUE(cost_gaps(default_costs(), layout).empty());
  Costs costs;
  for (const auto& [key, cost] : default_costs().segments) {
    if (key != SegmentKey{SegmentKind::Attention, false}) costs.segments[key] = cost;
  }
  costs.stages[1] = {2, 2, 2};
  costs.stages[9] = {2, 2, 2};
  const std::vector<std::string> gaps = cost_gaps(costs, layout);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0],
            "[segments] does not name attention, of which the model has some: it takes no time");
  EXPECT_EQ(gaps[1], "[stages] names 9, and there are 2 stages, numbered from 0");
}

}  // namespace
}  // namespace weft
