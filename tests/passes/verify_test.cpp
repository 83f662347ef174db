// Hand-made plans that must be refused, each with its message.
#include "passes/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "passes/plans.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using testing::layout_of;

// As a CSV, without the checks that reading a file makes.
Schedule plan(StageMap map, const std::string& csv) {
  Schedule schedule{map, 0, {}};
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    auto& cells = schedule.ranks.emplace_back();
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(parse_cell(cell));
  }
  for (const auto& cells : schedule.ranks) {
    for (const Cell& cell : cells) {
      const Action* action = std::get_if<Action>(&cell);
      const MicroBatch m =
          action != nullptr ? action->micro_batch : std::get<ActionPair>(cell).forward.micro_batch;
      schedule.num_micro_batches = std::max(schedule.num_micro_batches, m.value + 1);
    }
  }
  return schedule;
}

constexpr StageMap kTwo{2, 1, Placement::Looped};

std::vector<std::string> messages(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) all.push_back(finding.message);
  return all;
}

TEST(VerifyOrder, AcceptsOneForwardOneBackward) {
  EXPECT_THAT(verify_order(plan(kTwo, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")), ElementsAre());
}

TEST(VerifyOrder, NamesAWgradBeforeItsDgrad) {
  EXPECT_THAT(messages(verify_order(plan(kTwo, "0F0,0B0\n1F0,1W0,1I0\n"))),
              ElementsAre("rank 1 cell 2 (1W0) stands before its I, rank 1 cell 3 (1I0)"));
}

TEST(VerifyOrder, NamesWhatIsMissingAndWhatIsDouble) {
  EXPECT_THAT(messages(verify_order(plan(kTwo, "0F0,0F0,0B0\n1F0,1I0\n"))),
              ElementsAre("rank 0 cell 2 (0F0): 0F0 stands at rank 0 cell 1 (0F0) already",
                          "rank 1 cell 2 (1I0): 1W0 is missing"));
}

TEST(VerifyOrder, NamesAStageOnTheWrongRank) {
  EXPECT_THAT(messages(verify_order(plan(kTwo, "1F0,0F0,0B0\n1B0\n"))),
              ElementsAre("rank 0 cell 1 (1F0): stage 1 is on rank 1", "rank 1: 1F0 is missing"));
}

// Rank 0 wants the gradient of micro-batch 0 before it computes micro-batch 1, which rank 1
// computes first.
TEST(VerifyOrder, ShowsTheShortestCycle) {
  EXPECT_THAT(messages(verify_order(plan(kTwo, "0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n"))),
              ElementsAre("the order can never end: rank 0 cell 2 (0B0) needs rank 1 cell 3 (1B0), "
                          "which comes after rank 1 cell 1 (1F1); rank 1 cell 1 (1F1) needs rank 0 "
                          "cell 3 (0F1), which comes after rank 0 cell 2 (0B0)"));
}

// A forward cannot be woven with its own backward.
TEST(VerifyOrder, RefusesAPairThatNeedsItself) {
  EXPECT_THAT(
      messages(verify_order(plan({1, 1, Placement::Looped}, "(0F0;0B0)OVERLAP_F_B\n"))),
      ElementsAre("the order can never end: rank 0 cell 1 ((0F0;0B0)OVERLAP_F_B) needs rank 0 "
                  "cell 1 ((0F0;0B0)OVERLAP_F_B)"));
}

TEST(VerifyTransfers, AcceptsWhatPyTorchLowersTo) {
  EXPECT_THAT(
      messages(verify_transfers(plan(kTwo,
                                     "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                     "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"))),
      ElementsAre());
}

TEST(VerifyTransfers, NamesAMissingReceive) {
  EXPECT_THAT(
      messages(verify_transfers(plan(kTwo, "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n"))),
      ElementsAre("rank 1: 1RECV_F0 is missing"));
}

TEST(VerifyTransfers, NamesCrossedSends) {
  EXPECT_THAT(
      messages(verify_transfers(plan(kTwo,
                                     "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                     "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n"))),
      ElementsAre("crossed: rank 0 sends 0SEND_F1 before 0SEND_F0, rank 1 receives "
                  "1RECV_F0 before 1RECV_F1"));
}

TEST(VerifyTransfers, ShowsWhoWaitsForWhom) {
  EXPECT_THAT(
      messages(
          verify_transfers(plan(kTwo, "0F0,0RECV_B0,0B0,0SEND_F0\n1RECV_F0,1F0,1B0,1SEND_B0\n"))),
      ElementsAre("the ranks wait for each other for ever: rank 0 cell 3 (0B0) needs rank 1 "
                  "cell 4 (1SEND_B0), which comes after rank 1 cell 2 (1F0); rank 1 cell 2 "
                  "(1F0) needs rank 0 cell 4 (0SEND_F0), which comes after rank 0 cell 3 "
                  "(0B0)"));
}

TEST(VerifyTransfers, NamesAReductionThatComesTooEarly) {
  EXPECT_THAT(
      messages(verify_transfers(plan({1, 1, Placement::Looped}, "0F0,0I0,0REDUCE_GRAD,0W0\n"))),
      ElementsAre("rank 0 cell 3 (0REDUCE_GRAD) stands before rank 0 cell 4 (0W0), which "
                  "adds to the gradient"));
}

RankSteps steps_of(const std::string& text) {
  RankSteps rank;
  std::size_t first = 0;
  while (first < text.size()) {
    const std::size_t end = std::min(text.find(' ', first), text.size());
    rank.steps.push_back(parse_step(text.substr(first, end - first)));
    first = end + 1;
  }
  rank.spans.push_back({Action{}, 0, rank.steps.size()});
  return rank;
}

StepPlan two_dense_stages(const std::string& rank0, const std::string& rank1) {
  return {layout_of(kTwo, {"Ed", "L"}), 1, {steps_of(rank0), steps_of(rank1)}};
}

const std::string kForward0 =
    "0F0:embedding 0F0:attention.0 0F0:mlp.0 start(0SEND_F0) wait(0SEND_F0) release(0SEND_F0) ";
const std::string kBackward0 =
    "start(0RECV_B0) wait(0RECV_B0) 0I0:mlp.0 0W0:mlp.0 0I0:attention.0 0W0:attention.0 "
    "0W0:embedding";
const std::string kRank1 =
    "start(1RECV_F0) wait(1RECV_F0) 1F0:head 1I0:head start(1SEND_B0) 1W0:head wait(1SEND_B0) "
    "release(1SEND_B0)";

TEST(VerifySteps, AcceptsTwoDenseStages) {
  EXPECT_THAT(messages(verify_steps(two_dense_stages(kForward0 + kBackward0, kRank1))),
              ElementsAre());
}

TEST(VerifySteps, NamesAWaitBeforeItsStart) {
  const std::string backward =
      "wait(0RECV_B0) start(0RECV_B0) 0I0:mlp.0 0W0:mlp.0 0I0:attention.0 0W0:attention.0 "
      "0W0:embedding";
  EXPECT_THAT(messages(verify_steps(two_dense_stages(kForward0 + backward, kRank1))),
              ElementsAre("rank 0 step 7 (wait(0RECV_B0)) stands before rank 0 step 8 "
                          "(start(0RECV_B0)), which it needs"));
}

TEST(VerifySteps, NamesAWgradBeforeItsDgrad) {
  const std::string backward =
      "start(0RECV_B0) wait(0RECV_B0) 0W0:mlp.0 0I0:mlp.0 0I0:attention.0 0W0:attention.0 "
      "0W0:embedding";
  EXPECT_THAT(messages(verify_steps(two_dense_stages(kForward0 + backward, kRank1))),
              ElementsAre("rank 0 step 9 (0W0:mlp.0) stands before rank 0 step 10 (0I0:mlp.0), "
                          "which it needs"));
}

// The receive of rank 1 starts only behind a wait that rank 0 cannot serve before its send is
// through.
TEST(VerifySteps, ShowsTheCycleUnderZeroBuffering) {
  const StageMap map{2, 2, Placement::Looped};  // stages 0 and 2 on rank 0, 1 and 3 on rank 1
  const StepPlan plan{
      layout_of(map, {"E", "n", "n", "L"}),
      1,
      {steps_of("0F0:embedding start(0SEND_F0) wait(0SEND_F0) release(0SEND_F0) start(2RECV_F0) "
                "wait(2RECV_F0) 2F0:identity start(2SEND_F0) wait(2SEND_F0) release(2SEND_F0)"),
       steps_of("start(3RECV_F0) wait(3RECV_F0) 3F0:head start(1RECV_F0) wait(1RECV_F0) "
                "1F0:identity start(1SEND_F0) wait(1SEND_F0) release(1SEND_F0)")}};
  EXPECT_THAT(messages(verify_steps(plan, true)),
              ElementsAre("the ranks wait for each other for ever: rank 0 step 3 (wait(0SEND_F0)) "
                          "needs rank 1 step 4 (start(1RECV_F0)), which comes after rank 1 step 2 "
                          "(wait(3RECV_F0)); rank 1 step 2 (wait(3RECV_F0)) needs rank 0 step 8 "
                          "(start(2SEND_F0)), which comes after rank 0 step 3 (wait(0SEND_F0))"));
}

TEST(VerifyCollectives, NamesTwoCollectivesSwappedOnOneMember) {
  const RankSteps first = steps_of("start(0F1:dispatch.0) start(0B0:combine_backward.0)");
  const RankSteps second = steps_of("start(0B0:combine_backward.0) start(0F1:dispatch.0)");
  EXPECT_THAT(messages(verify_collectives({first, second})),
              ElementsAre("collective 1 of the queue: member 0 step 1 (start(0F1:dispatch.0)), but "
                          "member 1 step 1 (start(0B0:combine_backward.0))"));
}

// Equal order on each queue, but each waits for what the other starts only afterwards.
TEST(VerifyCollectives, ShowsACycleOverTwoQueues) {
  const RankSteps first =
      steps_of("start(0F1:counts.0) wait(0F1:counts.0) start(0F0:dispatch.0) wait(0F0:dispatch.0)");
  const RankSteps second =
      steps_of("start(0F0:dispatch.0) wait(0F0:dispatch.0) start(0F1:counts.0) wait(0F1:counts.0)");
  EXPECT_THAT(
      messages(verify_collectives({first, second})),
      ElementsAre("the members wait for each other for ever: member 0 step 2 (wait(0F1:counts.0)) "
                  "needs member 1 step 3 (start(0F1:counts.0)), which comes after member 1 step 2 "
                  "(wait(0F0:dispatch.0)); member 1 step 2 (wait(0F0:dispatch.0)) needs member 0 "
                  "step 3 (start(0F0:dispatch.0)), which comes after member 0 step 2 "
                  "(wait(0F1:counts.0))"));
}

}  // namespace
}  // namespace weft
