#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "schedule/text.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

struct WireHash {
  std::size_t operator()(const Wire& wire) const noexcept {
    const auto bits = [](int value) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value + 1));
    };
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(wire.kind) << 60) ^
                                      (bits(wire.stage.value) << 44) ^ (bits(wire.layer) << 28) ^
                                      bits(wire.micro_batch.value));
  }
};

bool is_send(WireKind kind) {
  return kind == WireKind::SendForward || kind == WireKind::SendBackward;
}

// The other end of a hand-over; empty for wires of a group that is in step with itself.
std::optional<Wire> other_end(const Wire& wire) {
  const auto at = [&wire](WireKind kind, int offset) {
    return Wire{kind, Stage(wire.stage.value + offset), wire.layer, wire.micro_batch};
  };
  switch (wire.kind) {
    case WireKind::SendForward:
      return at(WireKind::RecvForward, 1);
    case WireKind::RecvForward:
      return at(WireKind::SendForward, -1);
    case WireKind::SendBackward:
      return at(WireKind::RecvBackward, -1);
    case WireKind::RecvBackward:
      return at(WireKind::SendBackward, 1);
    case WireKind::Counts:
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return std::nullopt;
  }
  return std::nullopt;
}

// Wires that go one after the other on a rank: those of one lane, of a hand-over those of one end.
using QueueKey = std::pair<Lane, int>;

QueueKey queue_of(const Wire& wire) {
  if (!other_end(wire)) return {lane_of(wire.kind), -1};
  return {lane_of(wire.kind), 2 * wire.stage.value + (is_send(wire.kind) ? 1 : 0)};
}

struct Queue {
  std::deque<Wire> pending;  // started here, not begun
  double free = 0;
};

struct Exchange {
  double issued = 0;
  double begin = 0;
  double end = 0;
  bool begun = false;
};

class StepsLevel {
 public:
  StepsLevel(const StepPlan& plan, const Costs& costs)
      : plan_(plan), costs_(costs), ranks_(plan.ranks.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) runnable_.push_back(rank);
  }

  Timeline run() {
    while (!runnable_.empty()) {
      const std::size_t rank = runnable_.front();
      runnable_.pop_front();
      const auto& steps = plan_.ranks[rank].steps;
      while (ranks_[rank].next < steps.size() && execute(rank, steps[ranks_[rank].next])) {
        ++ranks_[rank].next;
      }
    }
    throw_if_stuck();
    return finish();
  }

 private:
  struct RankState {
    std::size_t next = 0;
    double free = 0;  // of the compute lane
    std::vector<Event> events;
    std::unordered_map<Wire, Exchange, WireHash> exchanges;
    std::map<QueueKey, Queue> queues;
    std::optional<Wire> waits_for;
  };

  // False if the step has to wait for another rank.
  bool execute(std::size_t rank, const Step& step) {
    return std::visit([&](const auto& s) { return handle(rank, s); }, step);
  }

  bool handle(std::size_t rank, const RunForward& step) {
    return compute(rank, step, cost_of(step.segment).forward);
  }
  bool handle(std::size_t rank, const RunDgrad& step) {
    return compute(rank, step, cost_of(step.segment).dgrad);
  }
  bool handle(std::size_t rank, const RunWgrad& step) {
    return compute(rank, step, cost_of(step.segment).wgrad);
  }
  bool handle(std::size_t, const Release&) { return true; }

  bool handle(std::size_t rank, const StartWire& step) {
    RankState& state = ranks_[rank];
    const bool is_new =
        state.exchanges.try_emplace(step.wire, Exchange{state.free, 0, 0, false}).second;
    if (!is_new) throw PlanError({{"simulate", place(rank) + " starts a wire a second time"}});
    state.queues[queue_of(step.wire)].pending.push_back(step.wire);
    begin_wires(rank, queue_of(step.wire));
    return true;
  }

  bool handle(std::size_t rank, const WaitWire& step) {
    RankState& state = ranks_[rank];
    const auto found = state.exchanges.find(step.wire);
    if (found == state.exchanges.end()) {
      throw PlanError({{"simulate", place(rank) + " waits for a wire that was not started"}});
    }
    if (!found->second.begun) {
      state.waits_for = step.wire;
      return false;
    }
    if (found->second.end > state.free) {
      state.events.push_back({Lane::Compute, Step(step), state.free, found->second.end, {}});
      state.free = found->second.end;
    }
    return true;
  }

  template <class Run>
  bool compute(std::size_t rank, const Run& step, double cost) {
    RankState& state = ranks_[rank];
    state.events.push_back({Lane::Compute, Step(step), state.free, state.free + cost, {}});
    state.free += cost;
    return true;
  }

  const SegmentCost& cost_of(const Segment& segment) const {
    return costs_.of_segment(key_of(plan_.layout, segment));
  }

  std::size_t rank_of(const Wire& wire) const {
    return static_cast<std::size_t>(plan_.layout.map.rank_of(wire.stage).value);
  }

  // Begins the wires at the head of a queue for as long as their other ends are heads too.
  void begin_wires(std::size_t rank, const QueueKey& key) {
    Queue& queue = ranks_[rank].queues[key];
    while (!queue.pending.empty()) {
      const Wire wire = queue.pending.front();
      Exchange& here = ranks_[rank].exchanges.at(wire);
      const std::optional<Wire> other = other_end(wire);
      double begin = std::max(here.issued, queue.free);
      if (!other) {
        begin_at(rank, wire, begin, begin + costs_.of_wire(wire.kind));
        continue;
      }
      const std::size_t peer = peer_of(rank, wire, *other);
      Queue& peer_queue = ranks_[peer].queues[queue_of(*other)];
      if (peer_queue.pending.empty() || peer_queue.pending.front() != *other) return;
      begin = std::max({begin, ranks_[peer].exchanges.at(*other).issued, peer_queue.free});
      begin_at(rank, wire, begin, begin + costs_.of_wire(wire.kind));
      begin_at(peer, *other, begin, begin + costs_.of_wire(other->kind));
    }
  }

  std::size_t peer_of(std::size_t rank, const Wire& wire, const Wire& other) const {
    const int stages = plan_.layout.map.num_stages();
    if (other.stage.value < 0 || other.stage.value >= stages || rank_of(other) == rank ||
        rank_of(other) >= ranks_.size()) {
      throw PlanError({{"simulate", "rank " + std::to_string(rank) + ": " + print(wire) +
                                        " has no other end on another rank"}});
    }
    return rank_of(other);
  }

  void begin_at(std::size_t rank, const Wire& wire, double begin, double end) {
    RankState& state = ranks_[rank];
    Queue& queue = state.queues[queue_of(wire)];
    queue.pending.pop_front();
    queue.free = end;
    Exchange& exchange = state.exchanges.at(wire);
    exchange = {exchange.issued, begin, end, true};
    state.events.push_back(
        {lane_of(wire.kind), Step(StartWire{wire}), begin, end, exchange.issued});
    if (state.waits_for == wire) {
      state.waits_for.reset();
      runnable_.push_back(rank);
    }
  }

  std::string place(std::size_t rank) const {
    const std::size_t next = ranks_[rank].next;
    return "rank " + std::to_string(rank) + " step " + std::to_string(next) + " " +
           print(plan_.ranks[rank].steps[next]);
  }

  void throw_if_stuck() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].next < plan_.ranks[rank].steps.size()) throw_cycle(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& [key, queue] : ranks_[rank].queues) {
        if (queue.pending.empty()) continue;
        throw PlanError({{"simulate", "rank " + std::to_string(rank) + " starts " +
                                          print(queue.pending.front()) + ", but " +
                                          print(*other_end(queue.pending.front())) +
                                          " is never its turn on the other rank"}});
      }
    }
  }

  // Why a rank's wait does not end: the wire, here or over there, that has to begin before it.
  const Wire& blocker_of(std::size_t rank) const {
    return ranks_[rank].queues.at(queue_of(*ranks_[rank].waits_for)).pending.front();
  }

  bool will_start(std::size_t rank, const Wire& wire) const {
    const auto& steps = plan_.ranks[rank].steps;
    return std::find(steps.begin() + static_cast<std::ptrdiff_t>(ranks_[rank].next), steps.end(),
                     Step(StartWire{wire})) != steps.end();
  }

  [[noreturn]] void throw_cycle(std::size_t rank) const {
    std::vector<std::size_t> path;
    std::vector<std::string> lines;
    while (std::find(path.begin(), path.end(), rank) == path.end()) {
      const Wire& blocker = blocker_of(rank);
      const Wire other = *other_end(blocker);
      const std::size_t peer = rank_of(other);
      path.push_back(rank);
      if (ranks_[peer].exchanges.contains(other)) {
        // Started on both ends, so the peer's queue has another wire first: the order is crossed.
        const Wire& ahead = ranks_[peer].queues.at(queue_of(other)).pending.front();
        throw PlanError({{"simulate", place(rank) + ": " + print(blocker) +
                                          " is next here, but rank " + std::to_string(peer) +
                                          " has " + print(ahead) + " next on the same edge"}});
      }
      if (!will_start(peer, other)) {
        throw PlanError({{"simulate", place(rank) + " needs " + print(other) + ", which rank " +
                                          std::to_string(peer) + " never starts"}});
      }
      lines.push_back(place(rank) + " waits until rank " + std::to_string(peer) + " starts " +
                      print(other));
      rank = peer;
    }
    const auto seen = std::find(path.begin(), path.end(), rank);
    std::string cycle = "the plan cannot end, its waits form a cycle:";
    for (std::size_t i = static_cast<std::size_t>(seen - path.begin()); i < lines.size(); ++i) {
      cycle += "\n  " + lines[i];
    }
    throw PlanError({{"simulate", cycle}});
  }

  Timeline finish() {
    Timeline timeline{costs_.unit, {}};
    double makespan = 0;
    for (const RankState& state : ranks_) {
      makespan = std::max(makespan, state.free);
      for (const auto& [key, queue] : state.queues) makespan = std::max(makespan, queue.free);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Rank rank(static_cast<int>(r));
      sort_events(ranks_[r].events);
      timeline.ranks.push_back({rank, rank, makespan, std::move(ranks_[r].events), {}, {}, {}});
      mark_steady(timeline.ranks.back(), plan_.ranks[r].spans, plan_.ranks[r].steps);
    }
    return timeline;
  }

  const StepPlan& plan_;
  const Costs& costs_;
  std::vector<RankState> ranks_;
  std::deque<std::size_t> runnable_;
};

}  // namespace

Timeline simulate(const StepPlan& plan, const Costs& costs) {
  return StepsLevel(plan, costs).run();
}

}  // namespace weft
