#include "simulate/simulate.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "base/error.h"
#include "schedule/text.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

// What a cell makes, which others wait for: a stage's output, its input's gradient (by B or I), or
// the W's of an I. The key is an action of kind Forward, Dgrad or Wgrad.
Action product_of(Action action) {
  if (action.kind == ActionKind::Backward) action.kind = ActionKind::Dgrad;
  return action;
}

struct ActionHash {
  std::size_t operator()(const Action& action) const noexcept {
    const auto kind = static_cast<std::uint64_t>(action.kind);
    const auto stage = static_cast<std::uint64_t>(static_cast<std::uint32_t>(action.stage.value));
    const auto micro_batch =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(action.micro_batch.value));
    return std::hash<std::uint64_t>{}((kind << 60) ^ (stage << 40) ^ micro_batch);
  }
};

struct Place {
  std::size_t rank = 0;
  std::size_t index = 0;
};

class ComputeLevel {
 public:
  ComputeLevel(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule), costs_(costs), ranks_(schedule.ranks.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) runnable_.push_back(rank);
  }

  Timeline run() {
    while (!runnable_.empty()) {
      const std::size_t rank = runnable_.front();
      runnable_.pop_front();
      while (ranks_[rank].next < schedule_.ranks[rank].size() && run_next(rank)) {
      }
    }
    throw_if_stuck();
    return finish();
  }

 private:
  struct RankState {
    std::size_t next = 0;
    double free = 0;
    std::vector<Event> events;
  };
  struct Done {
    std::size_t rank = 0;
    double time = 0;
  };

  std::vector<Action> actions_of(const Cell& cell) const {
    if (const auto* pair = std::get_if<ActionPair>(&cell)) return {pair->forward, pair->backward};
    return {std::get<Action>(cell)};
  }

  std::vector<Action> needs_of(const Action& action) const {
    const Stage stage = action.stage;
    const MicroBatch m = action.micro_batch;
    switch (action.kind) {
      case ActionKind::Forward:
        if (stage.value == 0) return {};
        return {{ActionKind::Forward, Stage(stage.value - 1), m}};
      case ActionKind::Backward:
      case ActionKind::Dgrad:
        if (stage.value == schedule_.map.num_stages() - 1) return {{ActionKind::Forward, stage, m}};
        return {{ActionKind::Forward, stage, m}, {ActionKind::Dgrad, Stage(stage.value + 1), m}};
      case ActionKind::Wgrad:
        return {{ActionKind::Dgrad, stage, m}};
      case ActionKind::SendForward:
      case ActionKind::RecvForward:
      case ActionKind::SendBackward:
      case ActionKind::RecvBackward:
      case ActionKind::ReduceGrad:
        break;
    }
    throw InternalError("simulate: the compute level holds F, B, I, W and pairs only");
  }

  double cost_of(const Cell& cell) const {
    if (const auto* pair = std::get_if<ActionPair>(&cell)) {
      const StageCost& backward = costs_.of_stage(pair->backward.stage);
      return costs_.pair
                 ? *costs_.pair
                 : costs_.of_stage(pair->forward.stage).forward + backward.dgrad + backward.wgrad;
    }
    const Action& action = std::get<Action>(cell);
    const StageCost& cost = costs_.of_stage(action.stage);
    switch (action.kind) {
      case ActionKind::Forward:
        return cost.forward;
      case ActionKind::Backward:
        return cost.dgrad + cost.wgrad;
      case ActionKind::Dgrad:
        return cost.dgrad;
      default:
        return cost.wgrad;
    }
  }

  // False if the rank now waits; it is woken by what it waits for.
  bool run_next(std::size_t rank) {
    RankState& state = ranks_[rank];
    const Cell& cell = schedule_.ranks[rank][state.next];
    double start = state.free;
    for (const Action& action : actions_of(cell)) {
      for (const Action& need : needs_of(action)) {
        const auto done = done_.find(need);
        if (done == done_.end()) {
          waiting_[need].push_back(rank);
          return false;
        }
        const double delay = done->second.rank == rank ? 0 : costs_.p2p;
        start = std::max(start, done->second.time + delay);
      }
    }
    const double end = start + cost_of(cell);
    state.events.push_back({Lane::Compute, cell, start, end, {}});
    state.free = end;
    ++state.next;
    for (const Action& action : actions_of(cell)) complete(product_of(action), {rank, end});
    return true;
  }

  void complete(const Action& product, Done done) {
    done_[product] = done;
    const auto waiting = waiting_.find(product);
    if (waiting == waiting_.end()) return;
    runnable_.insert(runnable_.end(), waiting->second.begin(), waiting->second.end());
    waiting_.erase(waiting);
  }

  const Action* first_unmet(std::size_t rank, Action& storage) const {
    for (const Action& action : actions_of(schedule_.ranks[rank][ranks_[rank].next])) {
      for (const Action& need : needs_of(action)) {
        if (done_.contains(need)) continue;
        storage = need;
        return &storage;
      }
    }
    return nullptr;
  }

  bool find_producer(const Action& need, Place& place) const {
    for (place.rank = 0; place.rank < ranks_.size(); ++place.rank) {
      const auto& cells = schedule_.ranks[place.rank];
      for (place.index = ranks_[place.rank].next; place.index < cells.size(); ++place.index) {
        for (const Action& action : actions_of(cells[place.index])) {
          if (product_of(action) == need) return true;
        }
      }
    }
    return false;
  }

  // Follows who waits for whom from the first stuck rank until a rank shows twice.
  void throw_if_stuck() const {
    std::size_t rank = 0;
    while (rank < ranks_.size() && ranks_[rank].next == schedule_.ranks[rank].size()) ++rank;
    if (rank == ranks_.size()) return;
    std::vector<std::size_t> path;
    std::vector<std::string> lines;
    for (;;) {
      const auto seen = std::find(path.begin(), path.end(), rank);
      if (seen != path.end()) {
        lines.erase(lines.begin(), lines.begin() + (seen - path.begin()));
        break;
      }
      Action need;
      Place producer;
      weft_assert(first_unmet(rank, need) != nullptr, "a stuck rank waits for something");
      const std::string where = "rank " + std::to_string(rank) + " cell " +
                                std::to_string(ranks_[rank].next) + " " +
                                print(schedule_.ranks[rank][ranks_[rank].next]);
      if (!find_producer(need, producer)) {
        throw PlanError({{"simulate", where + " needs " + print(need) + ", which no rank runs"}});
      }
      lines.push_back(where + " waits for " + print(need) + " in rank " +
                      std::to_string(producer.rank) + " cell " + std::to_string(producer.index));
      path.push_back(rank);
      rank = producer.rank;
    }
    std::string cycle = "the schedule cannot end, its waits form a cycle:";
    for (const std::string& line : lines) cycle += "\n  " + line;
    throw PlanError({{"simulate", cycle}});
  }

  Timeline finish() {
    Timeline timeline{costs_.unit, {}};
    double makespan = 0;
    for (const RankState& state : ranks_) makespan = std::max(makespan, state.free);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Rank rank(static_cast<int>(r));
      timeline.ranks.push_back({rank, rank, makespan, std::move(ranks_[r].events), {}, {}, {}});
      mark_steady(timeline.ranks.back(), {}, {});
    }
    return timeline;
  }

  const Schedule& schedule_;
  const Costs& costs_;
  std::vector<RankState> ranks_;
  std::deque<std::size_t> runnable_;
  std::unordered_map<Action, Done, ActionHash> done_;
  std::unordered_map<Action, std::vector<std::size_t>, ActionHash> waiting_;
};

}  // namespace

Timeline simulate(const Schedule& schedule, const Costs& costs) {
  weft_assert(is_compute_level(schedule), "simulate: a schedule at the compute level");
  return ComputeLevel(schedule, costs).run();
}

}  // namespace weft
