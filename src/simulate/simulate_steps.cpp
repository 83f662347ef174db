#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "passes/plan_text.h"
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

// The other end of a hand-over.
Wire other_end(const Wire& wire) {
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
      break;
  }
  throw InternalError("a wire of a group has no other end");
}

// Wires of an expert or data parallel group: one queue a lane.
constexpr std::size_t kNumGroupQueues = 4;

std::size_t group_queue(Lane lane) {
  switch (lane) {
    case Lane::Counts:
      return 0;
    case Lane::Dispatch:
      return 1;
    case Lane::Combine:
      return 2;
    case Lane::ReduceGrad:
      return 3;
    case Lane::Compute:
    case Lane::P2pForward:
    case Lane::P2pBackward:
    case Lane::Swap:
      break;
  }
  throw InternalError("a lane without a group");
}

// Wires that go one after the other on a rank.
struct Queue {
  std::deque<Wire> pending;  // started here, not begun
  double free = 0;
};

// A wire from its start to its wait.
struct Exchange {
  double issued = 0;
  double end = 0;
  bool begun = false;
};

class StepsLevel {
 public:
  StepsLevel(const StepPlan& plan, const Costs& costs)
      : plan_(plan),
        costs_(costs),
        hidden_states_(hidden_states_behind(plan.layout)),
        ranks_(plan.ranks.size()) {
    const std::size_t hand_over_queues = std::size_t{4} * plan.layout.map.chunks_per_rank;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].queues.resize(kNumGroupQueues + hand_over_queues);
      ranks_[rank].events.reserve(count_events(plan.ranks[rank].steps));
      runnable_.push_back(rank);
    }
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
    std::vector<Queue> queues;
    std::optional<Wire> waits_for;
  };

  // Room for all that runs and starts, and for some of the waits, since few of them block.
  static std::size_t count_events(const std::vector<Step>& steps) {
    std::size_t waits = 0;
    std::size_t others = 0;
    for (const Step& step : steps) {
      if (std::holds_alternative<WaitWire>(step)) {
        ++waits;
      } else if (!std::holds_alternative<Release>(step)) {
        ++others;
      }
    }
    return others + waits / 8;
  }

  // A hand-over goes in order with those of its kind and stage, other wires with their lane's.
  std::size_t queue_of(const Wire& wire) const {
    if (!is_hand_over(wire.kind)) return group_queue(lane_of(wire.kind));
    const auto kind =
        static_cast<std::size_t>(wire.kind) - static_cast<std::size_t>(WireKind::SendForward);
    const StageMap& map = plan_.layout.map;
    return kNumGroupQueues + kind * map.chunks_per_rank + map.chunk_of(wire.stage).value;
  }

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
    const Wire& wire = step.wire;
    if (wire.stage.value < 0 || wire.stage.value >= plan_.layout.map.num_stages()) {
      refuse({rank}, place(rank) + ": there is no such stage");
    }
    const bool is_new = state.exchanges.try_emplace(wire, Exchange{state.free, 0, false}).second;
    if (!is_new) refuse({rank}, place(rank) + " starts a wire a second time");
    if (is_hand_over(wire.kind)) {
      state.queues[queue_of(wire)].pending.push_back(wire);
      begin_hand_overs(rank, queue_of(wire));
    } else {
      begin_at(rank, wire, std::max(state.free, state.queues[queue_of(wire)].free));
    }
    return true;
  }

  bool handle(std::size_t rank, const WaitWire& step) {
    RankState& state = ranks_[rank];
    const auto found = state.exchanges.find(step.wire);
    if (found == state.exchanges.end()) {
      refuse({rank}, place(rank) + " waits for a wire that is not under way");
    }
    if (!found->second.begun) {
      state.waits_for = step.wire;
      return false;
    }
    if (found->second.end > state.free) {
      state.events.push_back({Lane::Compute, Step(step), state.free, found->second.end, {}});
      state.free = found->second.end;
    }
    state.exchanges.erase(found);
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

  double cost_of(const Wire& wire) const {
    const double cost = costs_.of_wire(wire.kind);
    return is_hand_over(wire.kind) ? cost * hidden_states_[edge_of(wire)] : cost;
  }

  std::size_t rank_of(const Wire& wire) const {
    return static_cast<std::size_t>(plan_.layout.map.rank_of(wire.stage).value);
  }

  // Begins the hand-overs at the head of a queue for as long as their other ends are heads too.
  void begin_hand_overs(std::size_t rank, std::size_t queue_index) {
    Queue& queue = ranks_[rank].queues[queue_index];
    while (!queue.pending.empty()) {
      const Wire wire = queue.pending.front();
      const Wire other = other_end(wire);
      const std::size_t peer = peer_of(rank, wire, other);
      Queue& peer_queue = ranks_[peer].queues[queue_of(other)];
      if (peer_queue.pending.empty() || peer_queue.pending.front() != other) return;
      const double begin = std::max({ranks_[rank].exchanges.at(wire).issued, queue.free,
                                     ranks_[peer].exchanges.at(other).issued, peer_queue.free});
      queue.pending.pop_front();
      peer_queue.pending.pop_front();
      begin_at(rank, wire, begin);
      begin_at(peer, other, begin);
    }
  }

  std::size_t peer_of(std::size_t rank, const Wire& wire, const Wire& other) const {
    const int stages = plan_.layout.map.num_stages();
    if (other.stage.value < 0 || other.stage.value >= stages || rank_of(other) == rank ||
        rank_of(other) >= ranks_.size()) {
      refuse({}, "rank " + std::to_string(rank) + ": " + print(wire) +
                     " has no other end on another rank");
    }
    return rank_of(other);
  }

  void begin_at(std::size_t rank, const Wire& wire, double begin) {
    RankState& state = ranks_[rank];
    Exchange& exchange = state.exchanges.at(wire);
    exchange.begun = true;
    exchange.end = begin + cost_of(wire);
    state.queues[queue_of(wire)].free = exchange.end;
    state.events.push_back(
        {lane_of(wire.kind), Step(StartWire{wire}), begin, exchange.end, exchange.issued});
    if (state.waits_for == wire) {
      state.waits_for.reset();
      runnable_.push_back(rank);
    }
  }

  std::string place(std::size_t rank) const { return text_.name(next_place(rank)); }
  Place next_place(std::size_t rank) const {
    return {static_cast<int>(rank), static_cast<int>(ranks_[rank].next)};
  }

  // With the next steps of `ranks` marked.
  [[noreturn]] void refuse(const std::vector<std::size_t>& ranks, const std::string& what) const {
    FindingList findings("simulate", text_);
    std::vector<Place> marked;
    for (std::size_t rank : ranks) marked.push_back(next_place(rank));
    findings.add(what, marked);
    throw PlanError(findings.take());
  }

  void throw_if_stuck() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].next < plan_.ranks[rank].steps.size()) throw_cycle(rank);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Queue& queue : ranks_[rank].queues) {
        if (queue.pending.empty()) continue;
        const Wire& wire = queue.pending.front();
        refuse({}, "rank " + std::to_string(rank) + " starts " + print(wire) + ", but " +
                       print(other_end(wire)) + " is never its turn on the other rank");
      }
    }
  }

  // Why a rank's wait does not end: the wire, here or over there, that has to begin before it.
  const Wire& blocker_of(std::size_t rank) const {
    return ranks_[rank].queues[queue_of(*ranks_[rank].waits_for)].pending.front();
  }

  // Where a rank starts the wire later on; empty if it does not.
  std::optional<Place> find_start(std::size_t rank, const Wire& wire) const {
    const auto& steps = plan_.ranks[rank].steps;
    const auto next = steps.begin() + static_cast<std::ptrdiff_t>(ranks_[rank].next);
    const auto found = std::find(next, steps.end(), Step(StartWire{wire}));
    if (found == steps.end()) return std::nullopt;
    return Place{static_cast<int>(rank), static_cast<int>(found - steps.begin())};
  }

  // Follows who waits for whom from a rank until one shows twice.
  [[noreturn]] void throw_cycle(std::size_t rank) const {
    std::vector<CycleLink> links;
    std::vector<std::size_t> path;
    while (std::find(path.begin(), path.end(), rank) == path.end()) {
      const Wire& blocker = blocker_of(rank);
      const Wire other = other_end(blocker);
      const std::size_t peer = rank_of(other);
      if (ranks_[peer].exchanges.contains(other)) {
        // Started on both ends, so the peer's queue has another wire first: the order is crossed.
        const Wire& ahead = ranks_[peer].queues[queue_of(other)].pending.front();
        refuse({rank}, place(rank) + ": " + print(blocker) + " is next here, but rank " +
                           std::to_string(peer) + " has " + print(ahead) +
                           " next on the same edge");
      }
      const std::optional<Place> start = find_start(peer, other);
      if (!start) {
        refuse({rank}, place(rank) + " needs " + print(other) + ", which rank " +
                           std::to_string(peer) + " never starts");
      }
      path.push_back(rank);
      links.push_back({next_place(rank), *start});
      rank = peer;
    }
    links.erase(links.begin(),
                links.begin() + (std::find(path.begin(), path.end(), rank) - path.begin()));
    FindingList findings("simulate", text_);
    findings.add_cycle("the plan can never end", links);
    throw PlanError(findings.take());
  }

  Timeline finish() {
    Timeline timeline{costs_.unit, {}};
    double makespan = 0;
    for (const RankState& state : ranks_) {
      makespan = std::max(makespan, state.free);
      for (const Queue& queue : state.queues) makespan = std::max(makespan, queue.free);
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
  const PlanText text_{plan_};
  const Costs& costs_;
  const std::vector<int> hidden_states_;  // [stage] handed to the next one
  std::vector<RankState> ranks_;
  std::deque<std::size_t> runnable_;
};

}  // namespace

Timeline simulate(const StepPlan& plan, const Costs& costs) {
  return StepsLevel(plan, costs).run();
}

}  // namespace weft
