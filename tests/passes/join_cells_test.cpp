// Literal plans: what is woven as one outside the steady phase.
#include "passes/join_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "passes/chains.h"
#include "passes/lower_transfers.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/csv.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

JoinedSchedule joined(const std::string& csv) {
  return join_cells(lower_transfers(parse_csv(csv, "test"), false));
}

// Both ranks take both micro-batches as one; receives go ahead of the pair, sends behind it.
TEST(JoinCells, TwoForwardsThenTwoBackwards) {
  const JoinedSchedule plan = joined("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(print_csv(plan.schedule),
            "0RECV_B0,0F0,0F1,0SEND_F0,0SEND_F1,0RECV_B1,0B0,0B1\n"
            "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1B1,1SEND_B0,1SEND_B1\n");
  EXPECT_THAT(plan.num_joined, ElementsAre(ElementsAre(1, 2, 0, 1, 1, 1, 2, 0),
                                           ElementsAre(1, 1, 2, 0, 2, 0, 1, 1)));
}

// 1F1B on two ranks is steady but for one forward at the start and one backward at the end.
TEST(JoinCells, TheSteadyPhaseStaysAsItIs) {
  const Schedule transfers =
      lower_transfers(parse_csv("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "test"), false);
  const JoinedSchedule plan = join_cells(transfers);
  EXPECT_EQ(plan.schedule.ranks[1], transfers.ranks[1]);
  EXPECT_EQ(plan.num_joined[1], join_nothing(transfers).num_joined[1]);
}

// A backward runs with an older W, never with its own; both belong to the rank's only stage.
TEST(JoinCells, AWgradJoinsOnlyALaterBackward) {
  const JoinedSchedule plan = joined("0F0,0F1,0I0,0W0,0I1,0W1\n");
  EXPECT_THAT(plan.num_joined, ElementsAre(ElementsAre(2, 0, 1, 2, 0, 1)));
}

// The second micro-batch cannot come before the first has gone through both stages and back: rank 0
// stops waiting for it.
TEST(JoinCells, WhatCannotComeTogetherRunsAlone) {
  const JoinedSchedule plan = joined(
      "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
      "1F0,3F0,1F1,3F1,3B0,3B1,1B0,1B1\n");
  for (const std::vector<int>& counts : plan.num_joined) {
    for (int count : counts) EXPECT_LE(count, 2);
  }
  EXPECT_EQ(plan.schedule.ranks[0].size(), 8u + 2 * 3 * 2);
}

// Attention 0-2 and 2-4, experts 4-6 and 6-8, the second combine until 10: one behind the other the
// two forwards would take 16.
TEST(JoinCells, WovenForwardsHideEachOthersWires) {
  Costs costs;
  costs.segments[{SegmentKind::Attention, true}] = {2, 2, 2};
  costs.segments[{SegmentKind::Experts, true}] = {2, 2, 2};
  costs.wires[WireKind::Counts] = 0;
  costs.wires[WireKind::Dispatch] = 2;
  const Schedule schedule = parse_csv("0F0,0F1,0B0,0B1\n", "test");
  const Layout layout = testing::layout_of(schedule.map, {"EmL"});
  WeaveProblem problem;
  for (int m : {0, 1}) add_forward(problem, layout, costs, {Stage(0), MicroBatch(m)});
  EXPECT_EQ(weave_times(problem, weave(problem)).end, 10);

  const StepPlan plan =
      lower(schedule, layout, costs, {.moe_fb_overlap = true, .overlap_outside_steady = true});
  ASSERT_EQ(plan.ranks[0].spans.size(), 2u);
  EXPECT_THAT(plan.ranks[0].spans[0].joined,
              ElementsAre(Action{ActionKind::Forward, Stage(0), MicroBatch(1)}));
  EXPECT_THAT(plan.ranks[0].spans[1].joined,
              ElementsAre(Action{ActionKind::Backward, Stage(0), MicroBatch(1)}));
}

// What a weight's W's add up to depends on their order.
TEST(JoinCells, WgradsStayInOrder) {
  const Layout layout = testing::layout_of({1, 1, Placement::Looped}, {"EmL"});
  WeaveProblem problem;
  for (int m : {0, 1}) {
    add_backward(problem, layout, testing::round_costs(), {Stage(0), MicroBatch(m)}, true);
  }
  std::map<std::pair<SegmentKind, int>, std::vector<int>> seen;
  for (int task : weave(problem)) {
    const auto& run = problem.tasks[task].run;
    const RunWgrad* wgrad = run ? std::get_if<RunWgrad>(&*run) : nullptr;
    if (wgrad == nullptr) continue;
    seen[{wgrad->segment.kind, wgrad->segment.layer}].push_back(wgrad->segment.micro_batch.value);
  }
  EXPECT_EQ(seen.size(), 4u);
  for (const auto& [segment, micro_batches] : seen) EXPECT_THAT(micro_batches, ElementsAre(0, 1));
}

}  // namespace
}  // namespace weft
