#include "passes/live.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/csv.h"
#include "schedule/registry.h"

namespace weft {
namespace {

std::vector<LiveCounts> counts_of(const char* csv) { return count_live(parse_csv(csv, "test")); }

TEST(CountLive, FromForwardToBackward) {
  EXPECT_EQ(counts_of("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n"),
            (std::vector<LiveCounts>{{3, 0}, {1, 0}}));
}

// Ends count before starts: the I frees its activation before the next F takes one.
TEST(CountLive, SplitBackwardFreesAtItsDgrad) {
  EXPECT_EQ(counts_of("0F0,0F1,0I0,0F2,0I1,0I2,0W0,0W1,0W2\n"), (std::vector<LiveCounts>{{2, 3}}));
}

// In a pair both micro-batches are live at once.
TEST(CountLive, PairHoldsBoth) {
  EXPECT_EQ(counts_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"), (std::vector<LiveCounts>{{2, 0}}));
}

// An activation of 10 of which a W keeps 4: 10, 20 while the I runs, 14 after it; the W frees its 4
// when it ends.
TEST(HeldByCell, BytesOfActivationsAndOfPendingWgrads) {
  const Schedule schedule = parse_csv("0F0,0F1,0I0,0B1,0W0\n", "test");
  EXPECT_EQ(held_by_cell(schedule, {{.activation = 10, .wgrad = 4}}),
            (PlanHeld{
                {{1, 0, 10, 10}, {2, 0, 20, 20}, {2, 1, 20, 14}, {1, 1, 14, 4}, {0, 0, 4, 0}}}));
}

// A layer that is computed again is there only while a cell runs; a pair has both its halves'.
TEST(HeldByCell, WhatIsThereOnlyWhileACellRuns) {
  const Schedule schedule = parse_csv("0F0,(0F1;0B0)OVERLAP_F_B,0I1,0W1\n", "test");
  EXPECT_EQ(held_by_cell(schedule, {{10, 4, 1, 30, 200}}),
            (PlanHeld{{{1, 0, 11, 10}, {2, 0, 51, 10}, {1, 1, 210, 4}, {0, 0, 4, 0}}}));
}

// A transfer changes nothing.
TEST(HeldByCell, PassesOverTransfers) {
  const Schedule schedule =
      parse_csv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "test");
  EXPECT_EQ(held_by_cell(schedule, {{.activation = 3}, {.activation = 5}}),
            (PlanHeld{{{1, 0, 3, 3}, {1, 0, 3, 3}, {1, 0, 3, 3}, {1, 0, 3, 0}},
                      {{0, 0, 0, 0}, {1, 0, 5, 5}, {1, 0, 5, 0}, {0, 0, 0, 0}}}));
}

// [stage] of what was given for it, for all, or segment by segment: 1 dense attention and
// feed-forward, embedding and head at the ends. A merge has no W.
TEST(StageBytes, OfTheStageOrOfItsSegments) {
  const Layout layout = testing::layout_of({2, 1, Placement::Looped}, {"Ed", "mL"});
  EXPECT_EQ(stage_bytes({}, layout), std::vector<KeptBytes>{});
  const KeptBytes all{.activation = 7};
  const KeptBytes own{.activation = 9, .wgrad = 1};
  EXPECT_EQ(stage_bytes({.stage = all, .stages = {{1, own}}}, layout),
            (std::vector<KeptBytes>{all, own}));
  CostBytes bytes;
  bytes.segments[{SegmentKind::Embedding, false}] = {.activation = 1};
  bytes.segments[{SegmentKind::Attention, false}] = {.activation = 10, .wgrad = 5, .forward = 3};
  bytes.segments[{SegmentKind::Mlp, false}] = {.activation = 100, .wgrad = 50, .forward = 2};
  bytes.segments[{SegmentKind::Experts, true}] = {.activation = 1000, .wgrad = 7, .dgrad = 9};
  bytes.segments[{SegmentKind::Merge, true}] = {.activation = 10000, .wgrad = 3};
  EXPECT_EQ(stage_bytes(bytes, layout),
            (std::vector<KeptBytes>{{111, 55, 3, 0, 0}, {11000, 7, 0, 9, 9}}));
  bytes.segments[{SegmentKind::Embedding, false}] = {.activation = kMaxKeptBytes};
  EXPECT_THROW(stage_bytes(bytes, layout), UserError);
}

StepPlan steps_plan(const std::vector<std::string>& steps, int micro_batches,
                    const std::vector<Action>& split) {
  StepPlan plan{testing::layout_of({1, 1, Placement::Looped}, {"EL"}), micro_batches, {{}}};
  for (const std::string& step : steps) plan.ranks[0].steps.push_back(parse_step(step));
  plan.ranks[0].spans = {{Action{}, 0, steps.size(), split}};
  return plan;
}

// A whole backward keeps its activation to its last step, a split one to its last dgrad; W's that
// are part of a whole one are not pending.
TEST(HeldByStep, StageByStage) {
  const std::vector<std::string> steps = {"0F0:embedding", "0F0:head", "0I0:head",
                                          "0W0:head",      "0W0:embedding"};
  const CostBytes bytes{.stage = KeptBytes{10, 4, 1, 30, 200}};
  EXPECT_EQ(held_by_step(steps_plan(steps, 1, {}), bytes),
            (PlanHeld{
                {{1, 0, 11, 11}, {1, 0, 11, 10}, {1, 0, 40, 40}, {0, 0, 40, 40}, {0, 0, 40, 0}}}));
  EXPECT_EQ(held_by_step(steps_plan(steps, 1, {{ActionKind::Dgrad, Stage(0), MicroBatch(0)}}),
                         bytes),
            (PlanHeld{
                {{1, 0, 11, 11}, {1, 0, 11, 10}, {1, 1, 210, 4}, {0, 1, 4, 4}, {0, 0, 4, 0}}}));
}

// Embedding has no dgrad: it is held to its W.
TEST(HeldByStep, SegmentBySegment) {
  CostBytes bytes;
  bytes.segments[{SegmentKind::Embedding, false}] = {.activation = 1, .wgrad = 500};
  bytes.segments[{SegmentKind::Head, false}] = {10, 4, 100, 0, 1000};
  EXPECT_EQ(held_by_step(steps_plan({"0F0:embedding", "0F0:head", "0I0:head", "0W0:head",
                                     "0W0:embedding"},
                                    1, {}),
                         bytes),
            (PlanHeld{
                {{1, 0, 1, 1}, {1, 0, 111, 11}, {1, 0, 1011, 5}, {0, 0, 5, 1}, {0, 0, 1, 0}}}));
}

// Wires change nothing; chunks and W's are counted as at the compute level.
TEST(HeldByStep, CountsAsTheCellsDo) {
  for (const bool detach : {false, true}) {
    const Schedule schedule = build_schedule("dualpipev", {.num_ranks = 3,
                                                           .chunks_per_rank = 2,
                                                           .num_micro_batches = 8,
                                                           .detach = detach});
    const Layout layout =
        testing::layout_of(schedule.map, {"Em", "dm", "m", "m", "m", "mL"});
    const StepPlan plan = lower(schedule, layout, default_costs(), {.moe_fb_overlap = true});
    const std::vector<LiveCounts> cells = count_live(schedule);
    const PlanHeld steps = held_by_step(plan, {});
    for (std::size_t r = 0; r < cells.size(); ++r) {
      LiveCounts peak;
      for (const Held& held : steps[r]) {
        peak.peak_live_chunks = std::max(peak.peak_live_chunks, held.live_chunks);
        peak.max_pending_wgrads = std::max(peak.max_pending_wgrads, held.pending_wgrads);
      }
      EXPECT_EQ(peak, cells[r]) << "rank " << r << " detach " << detach;
      EXPECT_EQ(steps[r].back(), Held{}) << "rank " << r;
    }
  }
}

}  // namespace
}  // namespace weft
