#include "timeline/entry_times.h"

#include <gtest/gtest.h>

#include "schedule/csv.h"
#include "timeline/events.h"

namespace weft {
namespace {

TEST(EntryTimes, ATransferStandsAtTheEndOfTheCellBefore) {
  const Schedule schedule = parse_csv("0RECV_B0,0F0,0SEND_F0,0B0\n1F0,1B0\n", "test");
  const Timeline timeline{
      "units",
      {rank_of(0, 9, {cell("0F0", 1, 2), cell("0B0", 5, 7)}), rank_of(1, 9, {cell("1F0", 2, 3)})}};
  EXPECT_EQ(entry_times(schedule, timeline),
            (PlanTimes{{{0, 0}, {1, 2}, {2, 2}, {5, 7}}, {{2, 3}, {3, 3}}}));
}

// A wait of the transfers level is no entry of its list.
TEST(EntryTimes, PassOverWaitsThatAreNoEntries) {
  const Schedule schedule = parse_csv("0F0,0B0\n1F0,1B0\n", "test");
  const Timeline timeline{"units",
                          {rank_of(0, 9, {cell("0F0", 0, 1), step("wait(0RECV_B0)", 1, 5),
                                          cell("0B0", 5, 7)}),
                           rank_of(1, 9, {})}};
  EXPECT_EQ(entry_times(schedule, timeline), (PlanTimes{{{0, 1}, {5, 7}}, {{0, 0}, {0, 0}}}));
}

// A wire's own event is on another lane; a wait that blocks takes time, one that does not none.
TEST(EntryTimes, OfSteps) {
  StepPlan plan;
  for (const char* text : {"start(1RECV_F0)", "wait(1RECV_F0)", "1F0:head", "start(1SEND_B0)",
                           "wait(1SEND_B0)", "release(1SEND_B0)", "1W0:head"}) {
    if (plan.ranks.empty()) plan.ranks.emplace_back();
    plan.ranks[0].steps.push_back(parse_step(text));
  }
  const Timeline timeline{"units",
                          {rank_of(0, 9,
                                   {step("wait(1RECV_F0)", 0, 2), wire("1RECV_F0", 0, 1, 2),
                                    step("1F0:head", 2, 4), wire("1SEND_B0", 4, 4, 4),
                                    step("1W0:head", 4, 5)})}};
  EXPECT_EQ(entry_times(plan, timeline),
            (PlanTimes{{{0, 0}, {0, 2}, {2, 4}, {4, 4}, {4, 4}, {4, 4}, {4, 5}}}));
}

}  // namespace
}  // namespace weft
