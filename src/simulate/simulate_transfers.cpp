#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/error.h"
#include "passes/cell_times.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

// What leaves a stage in one direction, in order. Of the messages that are not under way those
// posted on one end, with when.
struct MessageQueue {
  std::deque<std::pair<MicroBatch, double>> sent, posted;
  double begun = 0;  // the last one
};

class TransfersLevel {
 public:
  TransfersLevel(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        ranks_(schedule.ranks.size()),
        queues_(std::size_t{2} * schedule.map.num_stages()),
        arrivals_(queues_.size() * schedule.num_micro_batches) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) runnable_.push_back(rank);
  }

  Timeline run() {
    while (!runnable_.empty()) {
      const std::size_t rank = runnable_.front();
      runnable_.pop_front();
      const auto& cells = schedule_.ranks[rank];
      while (ranks_[rank].next < cells.size() && run_next(rank, cells[ranks_[rank].next])) {
        ++ranks_[rank].next;
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      weft_assert(ranks_[rank].next == schedule_.ranks[rank].size(),
                  "transfers that verify can be simulated");
    }
    return finish();
  }

 private:
  struct RankState {
    std::size_t next = 0;
    double free = 0;         // of the compute lane
    double reduce_free = 0;  // of the sums of gradients
    std::vector<Event> events;
    bool waits = false;
  };

  std::size_t rank_of(Stage stage) const { return schedule_.map.rank_of(stage).value; }

  // By the stage that sends.
  std::size_t queue_of(bool forward, Stage from) const {
    return static_cast<std::size_t>(from.value) * 2 + (forward ? 0 : 1);
  }
  std::optional<double>& arrival_of(bool forward, Stage from, MicroBatch m) {
    return arrivals_.at(queue_of(forward, from) * schedule_.num_micro_batches + m.value);
  }

  // False if the rank has to wait for another one.
  bool run_next(std::size_t rank, const Cell& cell) {
    const std::vector<Action> actions = compute_actions(cell);
    if (actions.empty()) {
      post(rank, std::get<Action>(cell));
      return true;
    }
    std::vector<Wire> received;
    for (const Action& action : actions) {
      const std::optional<Wire> wire = received_by(action);
      if (!wire) continue;
      if (!arrival(*wire)) {
        ranks_[rank].waits = true;
        return false;
      }
      received.push_back(*wire);
    }
    RankState& state = ranks_[rank];
    for (const Wire& wire : received) {
      const double end = arrival(wire).value();
      if (end <= state.free) continue;
      state.events.push_back({Lane::Compute, Step(WaitWire{wire}), state.free, end, {}});
      state.free = end;
    }
    const double start = state.free;
    state.free += costs_.of_cell(cell);
    state.events.push_back({Lane::Compute, cell, start, state.free, {}});
    return true;
  }

  // The message that an action needs from another rank.
  std::optional<Wire> received_by(const Action& action) const {
    const Stage stage = action.stage;
    const auto from_other = [&](int neighbour) {
      return neighbour >= 0 && neighbour < schedule_.map.num_stages() &&
             rank_of(Stage(neighbour)) != rank_of(stage);
    };
    if (action.kind == ActionKind::Forward && from_other(stage.value - 1)) {
      return Wire{WireKind::RecvForward, stage, -1, action.micro_batch};
    }
    const bool needs_gradient =
        action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad;
    if (needs_gradient && from_other(stage.value + 1)) {
      return Wire{WireKind::RecvBackward, stage, -1, action.micro_batch};
    }
    return std::nullopt;
  }

  std::optional<double> arrival(const Wire& received) {
    const bool forward = received.kind == WireKind::RecvForward;
    const Stage from(received.stage.value + (forward ? -1 : 1));
    return arrival_of(forward, from, received.micro_batch);
  }

  void post(std::size_t rank, const Action& action) {
    RankState& state = ranks_[rank];
    const Stage stage = action.stage;
    switch (action.kind) {
      case ActionKind::SendForward:
      case ActionKind::SendBackward: {
        const bool forward = action.kind == ActionKind::SendForward;
        queues_[queue_of(forward, stage)].sent.emplace_back(action.micro_batch, state.free);
        return begin(forward, stage);
      }
      case ActionKind::RecvForward:
      case ActionKind::RecvBackward: {
        const bool forward = action.kind == ActionKind::RecvForward;
        const Stage from(stage.value + (forward ? -1 : 1));
        queues_[queue_of(forward, from)].posted.emplace_back(action.micro_batch, state.free);
        return begin(forward, from);
      }
      case ActionKind::ReduceGrad:
        return reduce(state, stage);
      case ActionKind::Forward:
      case ActionKind::Backward:
      case ActionKind::Dgrad:
      case ActionKind::Wgrad:
        break;
    }
    throw InternalError("simulate_transfers: not a transfer");
  }

  // Begins what both ends have posted.
  void begin(bool forward, Stage from) {
    MessageQueue& queue = queues_[queue_of(forward, from)];
    const Stage to(from.value + (forward ? 1 : -1));
    while (!queue.sent.empty() && !queue.posted.empty()) {
      const auto [m, sent] = queue.sent.front();
      const auto [expected, posted] = queue.posted.front();
      weft_assert(m == expected, "messages of an edge are received in the order of their sends");
      queue.sent.pop_front();
      queue.posted.pop_front();
      queue.begun = std::max({sent, posted, queue.begun});
      add_wire({forward ? WireKind::SendForward : WireKind::SendBackward, from, -1, m}, queue.begun,
               sent);
      arrival_of(forward, from, m) =
          add_wire({forward ? WireKind::RecvForward : WireKind::RecvBackward, to, -1, m},
                   queue.begun, posted);
      if (std::exchange(ranks_[rank_of(to)].waits, false)) runnable_.push_back(rank_of(to));
    }
  }

  // Returns its end.
  double add_wire(const Wire& wire, double begin, double issued) {
    const double end = begin + (costs_.wires.empty() ? costs_.p2p : costs_.of_wire(wire.kind));
    ranks_[rank_of(wire.stage)].events.push_back(
        {lane_of(wire.kind), Step(StartWire{wire}), begin, end, issued});
    return end;
  }

  void reduce(RankState& state, Stage stage) {
    const double begin = std::max(state.free, state.reduce_free);
    const double cost = costs_.wires.empty() ? 0
                                             : costs_.of_wire(WireKind::ReduceGrad) +
                                                   costs_.of_wire(WireKind::GatherGrad);
    state.reduce_free = begin + cost;
    const Wire wire{WireKind::ReduceGrad, stage, -1, MicroBatch(0)};
    state.events.push_back(
        {Lane::ReduceGrad, Step(StartWire{wire}), begin, state.reduce_free, state.free});
  }

  Timeline finish() {
    Timeline timeline{costs_.unit, {}};
    double makespan = 0;
    for (const RankState& state : ranks_) {
      for (const Event& event : state.events) makespan = std::max(makespan, event.end);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Rank rank(static_cast<int>(r));
      sort_events(ranks_[r].events);
      timeline.ranks.push_back({rank, rank, makespan, std::move(ranks_[r].events), {}, {}, {}});
      mark_steady(timeline.ranks.back(), {}, {});
    }
    return timeline;
  }

  const Schedule& schedule_;
  const Costs& costs_;
  std::vector<RankState> ranks_;
  std::vector<MessageQueue> queues_;             // [stage, direction]
  std::vector<std::optional<double>> arrivals_;  // [stage, direction, micro-batch], of what left it
  std::deque<std::size_t> runnable_;
};

}  // namespace

Timeline simulate_transfers(const Schedule& schedule, const Costs& costs) {
  return TransfersLevel(schedule, costs).run();
}

}  // namespace weft
