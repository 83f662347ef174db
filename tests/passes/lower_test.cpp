// Literal plans through lower_transfers and lower_steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "passes/verify.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::layout_of;
using testing::round_costs;
using testing::text_of;

constexpr StageMap kTwo{2, 1, Placement::Looped};

Schedule golden(const std::string& name) {
  return parse_csv(read_file(std::string(WEFT_GOLDEN_DIR) + "/pytorch/" + name, "golden"), name);
}

// A receive ahead of the whole cell before the one that needs it, a send behind the one that makes
// it.
TEST(LowerTransfers, PostsReceivesOneCellAhead) {
  const Schedule schedule = parse_csv("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "test");
  EXPECT_EQ(print_csv(lower_transfers(schedule, true)),
            "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0RECV_B1,0B0,0B1,0REDUCE_GRAD\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n");
}

// Behind the last W of each stage and what that cell sends.
TEST(LowerTransfers, OverlappedReductionsFollowTheLastWgrad) {
  const Schedule schedule = parse_csv("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", "test");
  EXPECT_EQ(print_csv(lower_transfers(schedule, true, true)),
            "2RECV_F0,0F0,0SEND_F0,2RECV_B0,2F0,2SEND_F0,0RECV_B0,2B0,2SEND_B0,2REDUCE_GRAD,"
            "0B0,0REDUCE_GRAD\n"
            "1RECV_F0,3RECV_F0,1F0,1SEND_F0,3F0,1RECV_B0,3B0,3SEND_B0,3REDUCE_GRAD,"
            "1B0,1SEND_B0,1REDUCE_GRAD\n");
}

// The hand-over at the fold of the V is local.
TEST(LowerTransfers, SendsNothingWithinARank) {
  Schedule schedule = parse_csv("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "test");
  EXPECT_EQ(print_csv(lower_transfers(schedule, false)),
            "3RECV_F0,0F0,0SEND_F0,3F0,0RECV_B0,3B0,3SEND_B0,0B0\n"
            "1RECV_F0,1F0,2RECV_B0,2F0,2SEND_F0,2B0,1B0,1SEND_B0\n");
}

// Messages from one rank to another are received in the order in which they are sent, whatever
// their edges and directions: a client with one queue per pair of ranks can run the plan.
TEST(LowerTransfers, KeepsOneOrderBetweenTwoRanks) {
  for (int m : {1, 4, 9}) {
    const Schedule plan =
        lower_transfers(build_schedule("dualpipev", {2, 2, m, 0, true, true}), false);
    for (int from = 0; from < 2; ++from) {
      std::vector<std::string> sent, received;
      const auto key = [](const Action& a, bool send, bool forward) {
        const int edge = (send == forward) ? a.stage.value : a.stage.value - 1;
        return std::to_string(edge) + (forward ? "F" : "B") + std::to_string(a.micro_batch.value);
      };
      for (const Cell& cell : plan.ranks[from]) {
        const Action* a = std::get_if<Action>(&cell);
        if (a == nullptr) continue;
        if (a->kind == ActionKind::SendForward) sent.push_back(key(*a, true, true));
        if (a->kind == ActionKind::SendBackward) sent.push_back(key(*a, true, false));
      }
      for (const Cell& cell : plan.ranks[1 - from]) {
        const Action* a = std::get_if<Action>(&cell);
        if (a == nullptr) continue;
        if (a->kind == ActionKind::RecvForward) received.push_back(key(*a, false, true));
        if (a->kind == ActionKind::RecvBackward) received.push_back(key(*a, false, false));
      }
      EXPECT_EQ(sent, received);
    }
  }
}

std::string steps_of_cell(const StepPlan& plan, int rank, const std::string& cell) {
  const RankSteps& steps = plan.ranks[rank];
  for (const StepSpan& span : steps.spans) {
    if (span.cell != parse_cell(cell)) continue;
    const auto first = steps.steps.begin() + static_cast<long>(span.first);
    return text_of({first, first + static_cast<long>(span.count)});
  }
  return "no such cell";
}

TEST(LowerSteps, EagerWaitsForEveryWireAtOnce) {
  const Schedule schedule = parse_csv("0F0,0B0\n1F0,1B0\n", "test");
  const Layout layout = layout_of(kTwo, {"Em", "dL"}, true);
  const StepPlan plan = lower(schedule, layout, round_costs(), {false, true, false});
  EXPECT_EQ(text_of(plan.ranks[0].steps),
            "start(0RECV_B0) 0F0:embedding 0F0:attention.0 "
            "start(0F0:counts.0) wait(0F0:counts.0) release(0F0:counts.0) "
            "start(0F0:dispatch.0) wait(0F0:dispatch.0) release(0F0:dispatch.0) 0F0:experts.0 "
            "start(0F0:combine.0) wait(0F0:combine.0) release(0F0:combine.0) "
            "0F0:shared_expert.0 0F0:merge.0 start(0SEND_F0) "
            "wait(0RECV_B0) 0I0:merge.0 "
            "start(0B0:combine_backward.0) wait(0B0:combine_backward.0) "
            "release(0B0:combine_backward.0) 0I0:experts.0 "
            "start(0B0:dispatch_backward.0) wait(0B0:dispatch_backward.0) "
            "release(0B0:dispatch_backward.0) 0W0:experts.0 "
            "0I0:shared_expert.0 0W0:shared_expert.0 0I0:attention.0 0W0:attention.0 "
            "0W0:embedding wait(0SEND_F0) release(0SEND_F0) "
            "start(0REDUCE_GRAD.0) start(0REDUCE_GRAD) wait(0REDUCE_GRAD.0) start(0GATHER_GRAD.0) "
            "wait(0REDUCE_GRAD) start(0GATHER_GRAD) wait(0GATHER_GRAD.0) wait(0GATHER_GRAD)");
  EXPECT_EQ(text_of(plan.ranks[1].steps),
            "start(1RECV_F0) wait(1RECV_F0) 1F0:attention.1 1F0:mlp.1 1F0:head "
            "1I0:head 1W0:head 1I0:mlp.1 1W0:mlp.1 1I0:attention.1 start(1SEND_B0) "
            "1W0:attention.1 wait(1SEND_B0) release(1SEND_B0) "
            "start(1REDUCE_GRAD) start(1REDUCE_GRAD.1) wait(1REDUCE_GRAD) start(1GATHER_GRAD) "
            "wait(1REDUCE_GRAD.1) start(1GATHER_GRAD.1) wait(1GATHER_GRAD) wait(1GATHER_GRAD.1)");
}

// A wire of 3 counts as done 6 behind its start: layer 1 starts behind its last W, is in behind the
// two segments of 4 that follow, and gathered 14 behind its start; what is left waits at the end.
TEST(LowerSteps, ReductionsRunUnderWhatFollows) {
  const Schedule schedule = parse_csv("0F0,0B0\n", "test");
  const Layout layout = layout_of({1, 1, Placement::Looped}, {"EddL"});
  Costs costs = round_costs();
  costs.wires[WireKind::ReduceGrad] = 3;
  const StepPlan plan =
      lower(schedule, layout, costs, {.reduce_gradients = true, .overlap_grad_reduce = true});
  EXPECT_EQ(text_of(plan.ranks[0].steps),
            "0F0:embedding 0F0:attention.0 0F0:mlp.0 0F0:attention.1 0F0:mlp.1 0F0:head "
            "0I0:head 0W0:head 0I0:mlp.1 0W0:mlp.1 0I0:attention.1 0W0:attention.1 "
            "start(0REDUCE_GRAD.1) 0I0:mlp.0 0W0:mlp.0 "
            "wait(0REDUCE_GRAD.1) start(0GATHER_GRAD.1) 0I0:attention.0 0W0:attention.0 "
            "start(0REDUCE_GRAD.0) wait(0GATHER_GRAD.1) 0W0:embedding start(0REDUCE_GRAD) "
            "wait(0REDUCE_GRAD.0) start(0GATHER_GRAD.0) wait(0REDUCE_GRAD) start(0GATHER_GRAD) "
            "wait(0GATHER_GRAD.0) wait(0GATHER_GRAD)");
}

// A REDUCE_GRAD cell that came with the plan stays where it is.
TEST(LowerSteps, ReductionsStartNoEarlierThanTheirCell) {
  const Schedule schedule = parse_csv("0F0,0F1,0B0,0B1,0REDUCE_GRAD\n", "test");
  const Layout layout = layout_of({1, 1, Placement::Looped}, {"EL"});
  const StepPlan plan = lower(schedule, layout, round_costs(),
                              {.reduce_gradients = true, .overlap_grad_reduce = true});
  EXPECT_EQ(steps_of_cell(plan, 0, "0B1"), "0I1:head 0W1:head 0W1:embedding start(0REDUCE_GRAD)");
}

// The main head beside the layer's wires, the layer's own head behind it; on the way back the heads
// come first. Layer 1 is MoE as layer 0 is.
TEST(LowerSteps, AnMtpLayerWithTheLoss) {
  const Schedule schedule = parse_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n", "test");
  const Layout layout = layout_of(kTwo, {"Em", "pL"});
  const StepPlan plan = lower(schedule, layout, round_costs(), {true, false, false});
  EXPECT_EQ(steps_of_cell(plan, 1, "1F0"),
            "wait(1RECV_F0) 1F0:mtp_projection.1 1F0:attention.1 "
            "start(1F0:counts.1) wait(1F0:counts.1) release(1F0:counts.1) start(1F0:dispatch.1) "
            "1F0:head wait(1F0:dispatch.1) release(1F0:dispatch.1) 1F0:experts.1 "
            "start(1F0:combine.1) wait(1F0:combine.1) release(1F0:combine.1) 1F0:merge.1 "
            "1F0:mtp_head.1");
  EXPECT_EQ(steps_of_cell(plan, 1, "1I0"),
            "1I0:mtp_head.1 1I0:merge.1 "
            "start(1B0:combine_backward.1) 1I0:head wait(1B0:combine_backward.1) "
            "release(1B0:combine_backward.1) 1I0:experts.1 "
            "start(1B0:dispatch_backward.1) wait(1B0:dispatch_backward.1) "
            "release(1B0:dispatch_backward.1) 1I0:attention.1 1I0:mtp_projection.1 "
            "start(1SEND_B0)");
  EXPECT_EQ(steps_of_cell(plan, 1, "1W0"),
            "1W0:mtp_head.1 1W0:head 1W0:experts.1 1W0:attention.1 1W0:mtp_projection.1");
}

// Ahead of the stage with the loss: both hidden states are handed over, and all heads are there.
TEST(LowerSteps, AnMtpLayerAheadOfTheLoss) {
  const Schedule schedule = parse_csv("0F0,0B0\n1F0,1B0\n2F0,2B0\n", "test");
  const Layout layout = layout_of({3, 1, Placement::Looped}, {"Ed", "p", "L"});
  const StepPlan plan = lower(schedule, layout, round_costs(), {false, true, false});
  EXPECT_EQ(steps_of_cell(plan, 1, "1F0"),
            "wait(1RECV_F0) 1F0:mtp_projection.1 1F0:attention.1 1F0:mlp.1 start(1SEND_F0)");
  EXPECT_EQ(steps_of_cell(plan, 1, "1B0"),
            "wait(1RECV_B0) 1I0:mlp.1 1W0:mlp.1 1I0:attention.1 1W0:attention.1 "
            "1I0:mtp_projection.1 start(1SEND_B0) 1W0:mtp_projection.1");
  EXPECT_EQ(steps_of_cell(plan, 2, "2F0"), "wait(2RECV_F0) 2F0:head 2F0:mtp_head.1");
  EXPECT_EQ(steps_of_cell(plan, 2, "2B0"),
            "2I0:mtp_head.1 2W0:mtp_head.1 2I0:head start(2SEND_B0) 2W0:head");
  // The layer's bucket: its weights in stage 1, its norm and its use of the head in stage 2.
  EXPECT_EQ(steps_of_cell(plan, 1, "1REDUCE_GRAD"),
            "start(1REDUCE_GRAD.1) wait(1REDUCE_GRAD.1) start(1GATHER_GRAD.1) "
            "wait(1GATHER_GRAD.1)");
  EXPECT_EQ(steps_of_cell(plan, 2, "2REDUCE_GRAD"),
            "start(2REDUCE_GRAD.1) start(2REDUCE_GRAD) wait(2REDUCE_GRAD.1) "
            "start(2GATHER_GRAD.1) wait(2REDUCE_GRAD) start(2GATHER_GRAD) wait(2GATHER_GRAD.1) "
            "wait(2GATHER_GRAD)");
}

// The pair of spec.md section 2, with everything that the runtime does for it.
TEST(LowerSteps, WeavesAUniformPair) {
  const Schedule schedule = build_schedule("dualpipev", {3, 2, 8, 0, true, false});
  const Layout layout = layout_of(schedule.map, {"Em", "m", "m", "m", "m", "mL"});
  const StepPlan plan = lower(schedule, layout, round_costs(), {true, false, false});
  EXPECT_EQ(steps_of_cell(plan, 1, "(1F4;4B1)OVERLAP_F_B"),
            "wait(4RECV_B1) 4I1:merge.4 start(4B1:combine_backward.4) "
            "wait(1RECV_F4) 1F4:attention.1 start(1F4:counts.1) "
            "wait(1F4:counts.1) release(1F4:counts.1) start(1F4:dispatch.1) "
            "wait(4B1:combine_backward.4) release(4B1:combine_backward.4) 4I1:experts.4 "
            "start(4B1:dispatch_backward.4) wait(1F4:dispatch.1) release(1F4:dispatch.1) "
            "1F4:experts.1 start(1F4:combine.1) "
            "wait(4B1:dispatch_backward.4) release(4B1:dispatch_backward.4) 4I1:attention.4 "
            "start(4SEND_B1) 4W1:experts.4 wait(1F4:combine.1) release(1F4:combine.1) 1F4:merge.1 "
            "start(1SEND_F4) 4W1:attention.4");
}

// What is split off keeps its W's for their own cell.
TEST(LowerSteps, ASplitBackwardLeavesItsWgrads) {
  const Schedule schedule = parse_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n", "test");
  const Layout layout = layout_of(kTwo, {"Ed", "nL"});
  const StepPlan plan = lower(schedule, layout, round_costs(), {true, false, false});
  EXPECT_EQ(steps_of_cell(plan, 0, "0I0"), "wait(0RECV_B0) 0I0:mlp.0 0I0:attention.0");
  EXPECT_EQ(steps_of_cell(plan, 0, "0W0"), "0W0:mlp.0 0W0:attention.0 0W0:embedding");
  EXPECT_EQ(steps_of_cell(plan, 1, "1I0"), "1I0:head start(1SEND_B0)");
  EXPECT_EQ(steps_of_cell(plan, 1, "1W0"), "1W0:head");
}

// An embedding alone has no input gradient: its cell takes what arrives.
TEST(LowerSteps, StagesWithoutLayers) {
  const Schedule schedule = parse_csv("0F0,0I0,0W0\n1F0,1I0,1W0\n2F0,2I0,2W0\n", "test");
  const Layout layout = layout_of({3, 1, Placement::Looped}, {"E", "", "L"});
  const StepPlan plan = lower(schedule, layout, round_costs(), {true, false, false});
  EXPECT_EQ(steps_of_cell(plan, 0, "0I0"), "wait(0RECV_B0)");
  EXPECT_EQ(steps_of_cell(plan, 0, "0W0"), "0W0:embedding");
  EXPECT_EQ(steps_of_cell(plan, 1, "1F0"), "wait(1RECV_F0) 1F0:identity start(1SEND_F0)");
  EXPECT_EQ(steps_of_cell(plan, 1, "1W0"), "");
}

// A message is under way for at least the whole cell before its use, and no send is waited for
// before the cell behind it is done.
TEST(LowerSteps, TransfersHaveCellsOverThem) {
  const Schedule schedule = build_schedule("dualpipev", {4, 2, 10, 0, true, true});
  std::vector<std::string> stages(8, "m");
  stages.front() = "Em";
  stages.back() = "mL";
  const StepPlan plan =
      lower(schedule, layout_of(schedule.map, stages), round_costs(), {true, false, false});
  for (const RankSteps& rank : plan.ranks) {
    std::map<Wire, int> started;  // number of compute cells begun at the start
    int cells = 0;
    std::size_t last_cell_end = 0;
    for (const StepSpan& span : rank.spans) {
      const Action* action = std::get_if<Action>(&span.cell);
      if (action == nullptr || is_compute(action->kind)) {
        ++cells;
        last_cell_end = span.first + span.count;
      }
      for (std::size_t i = span.first; i < span.first + span.count; ++i) {
        if (const auto* start = std::get_if<StartWire>(&rank.steps[i])) {
          started[start->wire] = cells;
        }
        const auto* wait = std::get_if<WaitWire>(&rank.steps[i]);
        if (wait == nullptr) continue;
        const WireKind kind = wait->wire.kind;
        if (kind == WireKind::RecvForward || kind == WireKind::RecvBackward) {
          const bool first = started[wait->wire] == 0;  // nothing runs before the first receive
          EXPECT_TRUE(first || cells - started[wait->wire] >= 2) << print(*wait);
        }
        if (kind == WireKind::SendForward || kind == WireKind::SendBackward) {
          EXPECT_GE(cells - started[wait->wire], 0);
        }
      }
    }
    EXPECT_GT(last_cell_end, 0u);
  }
}

TEST(Lower, RefusesABrokenOrderWithEveryFinding) {
  const Schedule schedule = parse_csv("0F0,0B0\n1F0\n", "test");
  try {
    lower(schedule, layout_of(kTwo, {"E", "L"}), round_costs(), {});
    FAIL() << "accepted";
  } catch (const PlanError& error) {
    ASSERT_EQ(error.findings().size(), 1u);
    EXPECT_EQ(error.findings()[0].verifier, "verify_once");
    EXPECT_EQ(error.findings()[0].message, "rank 1: 1B0 is missing, or 1I0 with 1W0");
  }
}

// A plan that comes with transfers keeps their places.
TEST(Lower, TakesPyTorchsTransfers) {
  const Schedule pytorch = golden("zb1p_2rank_2stagep_comms.csv");
  const Layout layout = layout_of(pytorch.map, {"Em", "d", "m", "dL"});
  EXPECT_NO_THROW(lower(pytorch, layout, round_costs(), {true, true, false}));
}

}  // namespace
}  // namespace weft
