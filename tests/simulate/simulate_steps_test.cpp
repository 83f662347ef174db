#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "schedule/text.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

RankSteps steps_of(const std::vector<std::string>& texts) {
  RankSteps rank;
  for (const std::string& text : texts) rank.steps.push_back(parse_step(text));
  return rank;
}

// Two looped stages, a dense layer 0 and a MoE layer 1 on each.
StepPlan plan_of(const std::vector<std::vector<std::string>>& ranks) {
  StepPlan plan;
  plan.layout.map = {static_cast<int>(ranks.size()), 1, Placement::Looped};
  plan.layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe};
  plan.num_micro_batches = 1;
  for (const auto& texts : ranks) plan.ranks.push_back(steps_of(texts));
  return plan;
}

Costs simple_costs() {
  Costs costs;
  costs.segments = {{{SegmentKind::Attention, false}, {2, 3, 1}},
                    {{SegmentKind::Attention, true}, {4, 5, 2}},
                    {{SegmentKind::SharedExpert, true}, {1, 1, 1}},
                    {{SegmentKind::Experts, true}, {6, 7, 3}},
                    {{SegmentKind::Merge, true}, {1, 1, 0}}};
  costs.wires = {{WireKind::Counts, 1},
                 {WireKind::Dispatch, 5},
                 {WireKind::Combine, 3},
                 {WireKind::SendForward, 2},
                 {WireKind::SendBackward, 2}};
  return costs;
}

std::string refusal(const StepPlan& plan) {
  try {
    simulate(plan, simple_costs());
  } catch (const PlanError& error) {
    return error.what();
  }
  return "accepted";
}

Event compute(const char* text, double start, double end) {
  return {Lane::Compute, parse_step(text), start, end, {}};
}

Event wire(const char* text, double issued, double start, double end) {
  const Wire of = parse_wire(text);
  return {lane_of(of.kind), Step(StartWire{of}), start, end, issued};
}

// Stage 1 of `E|m|L` hands two hidden states over: a hand-over of 2 takes 4. Its MTP layer is as
// layer 1, so attention ends at 2 + 4; stage 2 runs its heads from 10 on.
TEST(SimulateSteps, AHandOverOfTwoHiddenStatesTakesTwiceAsLong) {
  StepPlan plan = plan_of({{"start(0SEND_F0)", "wait(0SEND_F0)"},
                           {"start(1RECV_F0)", "wait(1RECV_F0)", "1F0:attention.2",
                            "start(1SEND_F0)", "wait(1SEND_F0)"},
                           {"start(2RECV_F0)", "wait(2RECV_F0)", "2F0:head", "2F0:mtp_head.2"}});
  plan.layout.stages = {{true, {}, {}, false}, {false, {}, {0}, false}, {false, {}, {}, true}};
  Costs costs = simple_costs();
  costs.segments[{SegmentKind::Head, false}] = {3, 3, 3};
  costs.segments[{SegmentKind::MtpHead, false}] = {2, 2, 2};
  const Timeline timeline = simulate(plan, costs);
  EXPECT_THAT(timeline.ranks[1].events, Contains(compute("wait(1SEND_F0)", 6, 10)));
  EXPECT_EQ(timeline.ranks[2].end, 15);
}

// Attention to 4; counts 4-5, waited for; dispatch 5-10 with the shared expert 5-6 above it;
// experts 10-16; combine 16-19 with nothing above it; merge 19-20.
TEST(SimulateSteps, OneMoeLayerByHand) {
  const Timeline timeline =
      simulate(plan_of({{"0F0:attention.1", "start(0F0:counts.1)", "wait(0F0:counts.1)",
                         "start(0F0:dispatch.1)", "0F0:shared_expert.1", "wait(0F0:dispatch.1)",
                         "release(0F0:dispatch.1)", "0F0:experts.1", "start(0F0:combine.1)",
                         "wait(0F0:combine.1)", "0F0:merge.1"}}),
               simple_costs());
  ASSERT_EQ(timeline.ranks.size(), 1u);
  EXPECT_EQ(
      timeline.ranks[0].events,
      (std::vector<Event>{compute("0F0:attention.1", 0, 4), compute("wait(0F0:counts.1)", 4, 5),
                          wire("0F0:counts.1", 4, 4, 5), compute("0F0:shared_expert.1", 5, 6),
                          wire("0F0:dispatch.1", 5, 5, 10), compute("wait(0F0:dispatch.1)", 6, 10),
                          compute("0F0:experts.1", 10, 16), compute("wait(0F0:combine.1)", 16, 19),
                          wire("0F0:combine.1", 16, 16, 19), compute("0F0:merge.1", 19, 20)}));

  const RankMetrics metrics = measure(timeline).ranks[0];
  EXPECT_EQ(metrics.busy, 12);
  EXPECT_EQ(metrics.idle, 8);
  EXPECT_EQ(metrics.bubble, 0);
  EXPECT_EQ(metrics.all_to_all, 8);
  EXPECT_EQ(metrics.all_to_all_exposed, 7);
  EXPECT_EQ(metrics.counts_exposed, 1);
}

// Rank 1 posts its receive at 0; the message leaves at 2 and is in at 4: two units of bubble, two
// exposed. The gradient leaves rank 1 at 9, after rank 0 has waited from 2.
TEST(SimulateSteps, HandOverStartsWithItsLaterEnd) {
  const Timeline timeline =
      simulate(plan_of({{"0F0:attention.0", "start(0SEND_F0)", "start(0RECV_B0)", "wait(0RECV_B0)",
                         "0I0:attention.0"},
                        {"start(1RECV_F0)", "wait(1RECV_F0)", "1F0:attention.0", "1I0:attention.0",
                         "start(1SEND_B0)", "1W0:attention.0"}}),
               simple_costs());
  EXPECT_EQ(timeline.ranks[0].events,
            (std::vector<Event>{compute("0F0:attention.0", 0, 2), compute("wait(0RECV_B0)", 2, 11),
                                wire("0SEND_F0", 2, 2, 4), wire("0RECV_B0", 2, 9, 11),
                                compute("0I0:attention.0", 11, 14)}));
  EXPECT_EQ(timeline.ranks[1].events,
            (std::vector<Event>{compute("wait(1RECV_F0)", 0, 4), wire("1RECV_F0", 0, 2, 4),
                                compute("1F0:attention.0", 4, 6), compute("1I0:attention.0", 6, 9),
                                compute("1W0:attention.0", 9, 10), wire("1SEND_B0", 9, 9, 11)}));
  const std::vector<RankMetrics> metrics = measure(timeline).ranks;
  EXPECT_EQ(metrics[0].p2p_exposed, 2);
  EXPECT_EQ(metrics[0].bubble, 7);
  EXPECT_EQ(metrics[1].p2p_exposed, 2);
  EXPECT_EQ(metrics[1].bubble, 2 + 4) << "skew before the message, and the end of the step";
}

// Dispatch and combine backward share a lane and queue; combine has its own.
TEST(SimulateSteps, WiresOfOneLaneGoInOrder) {
  const Timeline timeline =
      simulate(plan_of({{"start(0F0:dispatch.1)", "start(0B0:combine_backward.1)",
                         "start(0F0:combine.1)", "wait(0B0:combine_backward.1)"}}),
               simple_costs());
  EXPECT_EQ(timeline.ranks[0].events,
            (std::vector<Event>{compute("wait(0B0:combine_backward.1)", 0, 8),
                                wire("0F0:dispatch.1", 0, 0, 5), wire("0F0:combine.1", 0, 0, 3),
                                wire("0B0:combine_backward.1", 0, 5, 8)}));
}

// A receive that is posted early must not hold up the rank's own send to the next one.
TEST(SimulateSteps, EachEdgeIsItsOwnQueue) {
  const Timeline timeline =
      simulate(plan_of({{"0F0:attention.0", "start(0SEND_F0)", "0F1:attention.0", "0F2:attention.0",
                         "start(0SEND_F1)"},
                        {"start(1RECV_F0)", "wait(1RECV_F0)", "start(1RECV_F1)", "1F0:attention.0",
                         "start(1SEND_F0)", "wait(1RECV_F1)"},
                        {"start(2RECV_F0)", "wait(2RECV_F0)"}}),
               simple_costs());
  EXPECT_THAT(timeline.ranks[2].events, Contains(wire("2RECV_F0", 0, 6, 8)));
  EXPECT_THAT(timeline.ranks[1].events, Contains(wire("1RECV_F1", 4, 6, 8)));
}

TEST(SimulateSteps, PairsMarkTheSteadyPhase) {
  StepPlan plan =
      plan_of({{"0F0:attention.0", "0F1:attention.0", "0I0:attention.0", "0I1:attention.0"}});
  plan.ranks[0].spans = {{parse_cell("0F0"), 0, 1},
                         {parse_cell("(0F1;0B0)OVERLAP_F_B"), 1, 2},
                         {parse_cell("0B1"), 3, 1}};
  const Timeline timeline = simulate(plan, simple_costs());
  EXPECT_EQ(timeline.ranks[0].steady_start, 2);
  EXPECT_EQ(timeline.ranks[0].steady_end, 7);
}

TEST(SimulateSteps, MissingEndIsNamed) {
  EXPECT_THAT(refusal(plan_of({{"0F0:attention.0"}, {"start(1RECV_F0)", "wait(1RECV_F0)"}})),
              HasSubstr("(wait(1RECV_F0)) needs 0SEND_F0, which rank 0 never starts"));
  EXPECT_THAT(refusal(plan_of({{"start(0SEND_F0)"}, {}})), HasSubstr("rank 0 starts 0SEND_F0"));
  EXPECT_THAT(refusal(plan_of({{"start(0RECV_F0)"}})), HasSubstr("no other end"));
}

TEST(SimulateSteps, CrossedOrderIsShown) {
  EXPECT_THAT(refusal(plan_of({{"start(0SEND_F0)", "start(0SEND_F1)"},
                               {"start(1RECV_F1)", "start(1RECV_F0)", "wait(1RECV_F1)"}})),
              AllOf(HasSubstr("1RECV_F1 is next here"), HasSubstr("rank 0 has 0SEND_F0 next")));
}

TEST(SimulateSteps, CycleIsShown) {
  EXPECT_EQ(refusal(plan_of({{"start(0RECV_B0)", "wait(0RECV_B0)", "start(0SEND_F0)"},
                             {"start(1RECV_F0)", "wait(1RECV_F0)", "start(1SEND_B0)"}})),
            "simulate: the plan can never end: rank 0 step 2 (wait(0RECV_B0)) needs rank 1 step 3 "
            "(start(1SEND_B0)), which comes after rank 1 step 2 (wait(1RECV_F0)); rank 1 step 2 "
            "(wait(1RECV_F0)) needs rank 0 step 3 (start(0SEND_F0)), which comes after rank 0 step "
            "2 (wait(0RECV_B0))\n"
            "step    1                2                  3\n"
            "rank 0  start(0RECV_B0)  [wait(0RECV_B0)]a  [start(0SEND_F0)]d\n"
            "rank 1  start(1RECV_F0)  [wait(1RECV_F0)]c  [start(1SEND_B0)]b");
}

TEST(SimulateSteps, WaitBeforeStartAndSecondStartAreRefused) {
  EXPECT_THAT(
      refusal(plan_of({{"wait(0F0:dispatch.1)", "start(0F0:dispatch.1)"}})),
      HasSubstr("rank 0 step 1 (wait(0F0:dispatch.1)) waits for a wire that is not under way"));
  EXPECT_THAT(refusal(plan_of({{"start(0F0:dispatch.1)", "start(0F0:dispatch.1)"}})),
              HasSubstr("a second time"));
}

}  // namespace
}  // namespace weft
