// Random plans against a simulator that is nothing but its rules, applied until no time changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "schedule/text.h"
#include "simulate/naive.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

using testing::draw;
using testing::naive_ends;
using testing::Random;
using testing::random_costs;
using testing::random_schedule;

TEST(RandomPlans, ComputeLevelAgreesWithTheNaiveRules) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Schedule schedule = random_schedule(random);
    const Costs costs = random_costs(random);

    const Timeline timeline = simulate(schedule, costs);
    const auto ends = naive_ends(schedule, costs);
    double makespan = 0;
    for (const auto& rank : ends) makespan = std::max(makespan, rank.empty() ? 0 : rank.back());
    for (std::size_t r = 0; r < ends.size(); ++r) {
      ASSERT_EQ(timeline.ranks[r].events.size(), ends[r].size());
      EXPECT_EQ(timeline.ranks[r].end, makespan);
      for (std::size_t i = 0; i < ends[r].size(); ++i) {
        EXPECT_EQ(timeline.ranks[r].events[i].end, ends[r][i]) << "rank " << r << " cell " << i;
      }
    }
  }
}

// --- Steps level ----------------------------------------------------------------------------

// Draws steps in an order in which they can run: a wait only for what all participants started.
// Both ends of an edge start its messages in rising order; all wires are waited for in the end.
StepPlan random_plan(Random& random) {
  StepPlan plan;
  const int ranks = draw(random, 1, 4);
  plan.layout.map = {ranks, 1, Placement::Looped};
  plan.layout.layer_kinds = {LayerKind::Dense, LayerKind::Moe};
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  std::vector<std::vector<Wire>> open(plan.ranks.size());  // started here, not waited for
  std::set<Wire> started;
  std::map<std::pair<WireKind, int>, int> next_message;
  int next_micro_batch = 0;

  const auto ready = [&](const Wire& w) {
    switch (w.kind) {
      case WireKind::SendForward:
        return started.contains(
            {WireKind::RecvForward, Stage(w.stage.value + 1), -1, w.micro_batch});
      case WireKind::RecvForward:
        return started.contains(
            {WireKind::SendForward, Stage(w.stage.value - 1), -1, w.micro_batch});
      case WireKind::SendBackward:
        return started.contains(
            {WireKind::RecvBackward, Stage(w.stage.value - 1), -1, w.micro_batch});
      case WireKind::RecvBackward:
        return started.contains(
            {WireKind::SendBackward, Stage(w.stage.value + 1), -1, w.micro_batch});
      default:
        return true;
    }
  };
  const auto start = [&](int rank, const Wire& w) {
    plan.ranks[static_cast<std::size_t>(rank)].steps.push_back(StartWire{w});
    open[static_cast<std::size_t>(rank)].push_back(w);
    started.insert(w);
  };
  const auto start_next = [&](int rank, WireKind kind) {
    start(rank, {kind, Stage(rank), -1, MicroBatch(next_message[{kind, rank}]++)});
  };
  const auto wait_some = [&](std::size_t rank) {
    for (std::size_t i = 0; i < open[rank].size(); ++i) {
      if (!ready(open[rank][i])) continue;
      plan.ranks[rank].steps.push_back(WaitWire{open[rank][i]});
      open[rank].erase(open[rank].begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  };
  for (int count = draw(random, 5, 80); count > 0; --count) {
    const int rank = draw(random, 0, ranks - 1);
    const Segment segment{draw(random, 0, 1) == 0 ? SegmentKind::Attention : SegmentKind::Experts,
                          Stage(rank), draw(random, 0, 1), MicroBatch(next_micro_batch++)};
    auto& steps = plan.ranks[static_cast<std::size_t>(rank)].steps;
    switch (draw(random, 0, 9)) {
      case 0:
        steps.push_back(RunForward{segment});
        break;
      case 1:
        steps.push_back(RunDgrad{segment});
        break;
      case 2:
        steps.push_back(RunWgrad{segment});
        break;
      case 3:
      case 4:
        start(rank,
              {static_cast<WireKind>(draw(random, 0, 4)), Stage(rank), 1, segment.micro_batch});
        break;
      case 5:
        if (rank + 1 < ranks) start_next(rank, WireKind::SendForward);
        break;
      case 6:
        if (rank > 0) start_next(rank, WireKind::RecvForward);
        break;
      case 7:
        if (rank > 0) start_next(rank, WireKind::SendBackward);
        if (rank + 1 < ranks) start_next(rank, WireKind::RecvBackward);
        break;
      default:
        wait_some(static_cast<std::size_t>(rank));
    }
  }
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    const auto even_out = [&](int a, WireKind kind_a, int b, WireKind kind_b) {
      while (next_message[{kind_a, a}] < next_message[{kind_b, b}]) start_next(a, kind_a);
      while (next_message[{kind_b, b}] < next_message[{kind_a, a}]) start_next(b, kind_b);
    };
    even_out(rank, WireKind::SendForward, rank + 1, WireKind::RecvForward);
    even_out(rank, WireKind::RecvBackward, rank + 1, WireKind::SendBackward);
  }
  for (std::size_t rank = 0; rank < open.size(); ++rank) {
    while (!open[rank].empty()) wait_some(rank);
  }
  return plan;
}

// When each wire is issued, begins and ends on a rank, from nothing but the rules.
struct NaiveWire {
  double issued = 0;
  double ready = 0;  // issued, and what was before it in its queue is over
  double begin = 0;
  double end = 0;
};

bool same_queue(const Wire& a, const Wire& b) {
  const bool p2p = a.kind >= WireKind::SendForward && a.kind <= WireKind::RecvBackward;
  return p2p ? a.kind == b.kind : lane_of(a.kind) == lane_of(b.kind);
}

std::optional<std::pair<std::size_t, Wire>> naive_peer(std::size_t rank, const Wire& w) {
  const auto at = [&](int step, WireKind kind) {
    return std::pair(rank + static_cast<std::size_t>(step),
                     Wire{kind, Stage(w.stage.value + step), -1, w.micro_batch});
  };
  if (w.kind == WireKind::SendForward) return at(1, WireKind::RecvForward);
  if (w.kind == WireKind::RecvForward) return at(-1, WireKind::SendForward);
  if (w.kind == WireKind::SendBackward) return at(-1, WireKind::RecvBackward);
  if (w.kind == WireKind::RecvBackward) return at(1, WireKind::SendBackward);
  return std::nullopt;
}

using NaiveWires = std::vector<std::map<Wire, NaiveWire>>;

NaiveWires naive_wires(const StepPlan& plan, const Costs& costs, std::vector<double>& ends) {
  NaiveWires wires(plan.ranks.size());
  ends.assign(plan.ranks.size(), 0);
  for (bool changed = true; changed;) {
    NaiveWires next = wires;
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
      double now = 0;
      std::vector<Wire> before;
      for (const Step& step : plan.ranks[r].steps) {
        const auto cost = [&](const Segment& s) {
          return costs.segments.at(
              normalised({s.kind, plan.layout.layer_kinds[static_cast<std::size_t>(s.layer)] ==
                                      LayerKind::Moe}));
        };
        if (const auto* f = std::get_if<RunForward>(&step)) now += cost(f->segment).forward;
        if (const auto* i = std::get_if<RunDgrad>(&step)) now += cost(i->segment).dgrad;
        if (const auto* w = std::get_if<RunWgrad>(&step)) now += cost(w->segment).wgrad;
        if (const auto* wait = std::get_if<WaitWire>(&step)) {
          now = std::max(now, wires[r][wait->wire].end);
        }
        if (const auto* s = std::get_if<StartWire>(&step)) {
          NaiveWire& wire = next[r][s->wire];
          wire.issued = now;
          wire.ready = now;
          for (const Wire& earlier : before) {
            if (same_queue(earlier, s->wire)) {
              wire.ready = std::max(wire.ready, wires[r][earlier].end);
            }
          }
          wire.begin = wire.ready;
          if (const auto peer = naive_peer(r, s->wire)) {
            wire.begin = std::max(wire.begin, wires[peer->first][peer->second].ready);
          }
          wire.end = wire.begin + costs.of_wire(s->wire.kind);
          before.push_back(s->wire);
        }
      }
      ends[r] = now;
    }
    changed = false;
    for (std::size_t r = 0; r < wires.size(); ++r) {
      for (const auto& [wire, times] : next[r]) {
        const NaiveWire& old = wires[r][wire];
        changed |= old.issued != times.issued || old.ready != times.ready ||
                   old.begin != times.begin || old.end != times.end;
      }
    }
    wires = next;
  }
  return wires;
}

TEST(RandomPlans, StepsLevelAgreesWithTheNaiveRules) {
  for (unsigned seed = 0; seed < 10000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const StepPlan plan = random_plan(random);
    Costs costs;
    for (const bool moe : {false, true}) {
      costs.segments[{SegmentKind::Attention, moe}] = {static_cast<double>(draw(random, 0, 4)), 2,
                                                       1};
    }
    costs.segments[{SegmentKind::Experts, true}] = {3, static_cast<double>(draw(random, 0, 4)), 2};
    for (int kind = 0; kind <= static_cast<int>(WireKind::GatherGrad); ++kind) {
      costs.wires[static_cast<WireKind>(kind)] = draw(random, 0, 6);
    }

    const Timeline timeline = simulate(plan, costs);
    std::vector<double> ends;
    const NaiveWires wires = naive_wires(plan, costs, ends);
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
      std::size_t seen = 0;
      double compute_end = 0;
      for (const Event& event : timeline.ranks[r].events) {
        if (event.lane == Lane::Compute) {
          compute_end = std::max(compute_end, event.end);
          continue;
        }
        ++seen;
        const NaiveWire& expected = wires[r].at(*wire_of(event));
        EXPECT_EQ(event.issued, expected.issued) << event_text(event);
        EXPECT_EQ(event.start, expected.begin) << event_text(event);
        EXPECT_EQ(event.end, expected.end) << event_text(event);
      }
      EXPECT_EQ(seen, wires[r].size());
      EXPECT_EQ(compute_end, ends[r]);
    }
  }
}

}  // namespace
}  // namespace weft
