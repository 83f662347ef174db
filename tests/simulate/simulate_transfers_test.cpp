#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "passes/lower_transfers.h"
#include "schedule/csv.h"
#include "schedule/text.h"
#include "simulate/naive.h"
#include "simulate/simulate.h"
#include "timeline/entry_times.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using testing::draw;
using testing::Random;

std::string text_of(const RankTimeline& rank) {
  std::string text;
  for (const Event& event : rank.events) {
    const bool waits = event.lane == Lane::Compute && !is_work(event);
    text += (waits ? "wait " : "") + event_text(event) + " " + std::to_string(int(event.start)) +
            "-" + std::to_string(int(event.end)) + "\n";
  }
  return text;
}

Costs costs_with(double p2p) {
  Costs costs;
  costs.p2p = p2p;
  return costs;
}

// F 1, B 2, a hand-over 3. Rank 1 has its first input at 4, rank 0 its first gradient at 9.
TEST(SimulateTransfers, ShowsHandOversAndWhatTheyExpose) {
  const Schedule schedule =
      parse_csv("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "test");
  const Timeline timeline = simulate_transfers(schedule, costs_with(3));
  EXPECT_EQ(text_of(timeline.ranks[0]),
            "0F0 0-1\nwait 0RECV_B0 1-10\n0SEND_F0 1-4\n0RECV_B0 7-10\n0B0 10-12\n");
  EXPECT_EQ(text_of(timeline.ranks[1]),
            "wait 1RECV_F0 0-4\n1RECV_F0 1-4\n1F0 4-5\n1B0 5-7\n1SEND_B0 7-10\n");
  const TimelineMetrics metrics = measure(timeline);
  EXPECT_EQ(metrics.makespan, 12);
  EXPECT_EQ(metrics.ranks[0].busy, 3);
  EXPECT_EQ(metrics.ranks[0].exposed_communication, 3);
  EXPECT_EQ(metrics.ranks[0].bubble, 6);
  EXPECT_EQ(metrics.ranks[1].p2p_exposed, 3);
  EXPECT_EQ(metrics.ranks[1].bubble, 1 + 5);
}

// Rank 1 posts its second receive behind a backward of 2: what has been sent at 2 begins at 4.
TEST(SimulateTransfers, ALateReceiveHoldsItsMessageUp) {
  const char* const sender = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n";
  const Schedule late = parse_csv(
      std::string(sender) + "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n", "test");
  const Schedule early = parse_csv(
      std::string(sender) + "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n", "test");
  const PlanTimes lates = entry_times(late, simulate_transfers(late, costs_with(1)));
  const PlanTimes earlies = entry_times(early, simulate_transfers(early, costs_with(1)));
  EXPECT_EQ(lates[1][5], (EntryTime{6, 7}));    // 1F1: posted at 5, in at 6
  EXPECT_EQ(earlies[1][5], (EntryTime{5, 6}));  // in at 3, the rank is free at 5
}

TEST(SimulateTransfers, TakesWiresFromTheCostsAndSumsGradientsAtTheEnd) {
  const Schedule schedule = parse_csv(
      "0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n", "test");
  Costs costs;
  costs.wires = {{WireKind::SendForward, 1}, {WireKind::RecvForward, 2},
                 {WireKind::SendBackward, 0}, {WireKind::ReduceGrad, 5},
                 {WireKind::GatherGrad, 6}};
  const Timeline timeline = simulate_transfers(schedule, costs);
  EXPECT_EQ(text_of(timeline.ranks[0]),
            "0F0 0-1\nwait 0RECV_B0 1-6\n0SEND_F0 1-2\n0B0 6-8\n0RECV_B0 6-6\n0REDUCE_GRAD 8-19\n");
  EXPECT_EQ(timeline.ranks[0].end, 19);
  EXPECT_EQ(measure(timeline).ranks[0].busy, 3);
}

// Where messages take no time no order of transfers costs any.
TEST(SimulateTransfers, OfMessagesWithoutTimeIsTheComputeLevel) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Schedule schedule = testing::random_schedule(random);
    Costs costs = testing::random_costs(random);
    costs.p2p = 0;
    const Schedule transfers = lower_transfers(schedule, false);
    const PlanTimes times = entry_times(transfers, simulate_transfers(transfers, costs));
    const auto ends = testing::naive_ends(schedule, costs);
    for (std::size_t r = 0; r < ends.size(); ++r) {
      std::vector<double> cell_ends;
      for (std::size_t i = 0; i < times[r].size(); ++i) {
        const Action* action = std::get_if<Action>(&transfers.ranks[r][i]);
        if (action == nullptr || is_compute(action->kind)) cell_ends.push_back(times[r][i].end);
      }
      EXPECT_EQ(cell_ends, ends[r]) << "rank " << r;
    }
  }
}

// The rules and nothing else, applied until no time changes: [rank][entry], when each ends, of a
// transfer when it is posted.
std::vector<std::vector<double>> naive_transfers(const Schedule& schedule, const Costs& costs) {
  struct End {
    std::size_t rank = 0, index = 0;
  };
  using Message = std::tuple<bool, int, int>;  // forward, sending stage, micro-batch
  std::map<Message, End> sends, receives;
  std::map<std::pair<bool, int>, std::vector<Message>> queues;  // in the order of the sends
  std::vector<std::vector<double>> ends;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    ends.emplace_back(schedule.ranks[r].size(), 0.0);
    for (std::size_t i = 0; i < schedule.ranks[r].size(); ++i) {
      const Action* a = std::get_if<Action>(&schedule.ranks[r][i]);
      if (a == nullptr || is_compute(a->kind)) continue;
      const bool forward = a->kind == ActionKind::SendForward || a->kind == ActionKind::RecvForward;
      const bool is_send =
          a->kind == ActionKind::SendForward || a->kind == ActionKind::SendBackward;
      const int from = a->stage.value + (is_send ? 0 : forward ? -1 : 1);
      const Message message{forward, from, a->micro_batch.value};
      (is_send ? sends : receives)[message] = {r, i};
      if (is_send) queues[{forward, from}].push_back(message);
    }
  }
  std::map<Message, double> arrivals;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [edge, messages] : queues) {
      double begun = 0;
      for (const Message& message : messages) {
        const End send = sends.at(message), receive = receives.at(message);
        begun = std::max({begun, ends[send.rank][send.index], ends[receive.rank][receive.index]});
        changed |= arrivals[message] != begun + costs.p2p;
        arrivals[message] = begun + costs.p2p;
      }
    }
    for (std::size_t r = 0; r < ends.size(); ++r) {
      for (std::size_t i = 0; i < ends[r].size(); ++i) {
        double end = i == 0 ? 0 : ends[r][i - 1];
        const Cell& cell = schedule.ranks[r][i];
        const Action* alone = std::get_if<Action>(&cell);
        if (alone == nullptr || is_compute(alone->kind)) {
          for (const Action& a : testing::halves(cell)) {
            if (a.kind == ActionKind::Wgrad) continue;
            const bool forward = a.kind == ActionKind::Forward;
            const auto found = arrivals.find(
                {forward, a.stage.value + (forward ? -1 : 1), a.micro_batch.value});
            if (found != arrivals.end()) end = std::max(end, found->second);
          }
          end += testing::naive_cost(cell, costs);
        }
        changed |= ends[r][i] != end;
        ends[r][i] = end;
      }
    }
  }
  return ends;
}

TEST(SimulateTransfers, OfRandomPlansAgreesWithTheNaiveRules) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Schedule transfers = lower_transfers(testing::random_schedule(random), false);
    const Costs costs = testing::random_costs(random);
    const PlanTimes times = entry_times(transfers, simulate_transfers(transfers, costs));
    const auto ends = naive_transfers(transfers, costs);
    for (std::size_t r = 0; r < ends.size(); ++r) {
      for (std::size_t i = 0; i < ends[r].size(); ++i) {
        ASSERT_EQ(times[r][i].end, ends[r][i]) << "rank " << r << " entry " << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft
