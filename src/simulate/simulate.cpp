#include "simulate/simulate.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "base/error.h"
#include "passes/verify.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

constexpr double kNotYet = -std::numeric_limits<double>::infinity();

// Calls visit with the one action of a cell, or with both halves of a pair.
template <class Visit>
void visit_actions(const Cell& cell, Visit visit) {
  if (const auto* pair = std::get_if<ActionPair>(&cell)) {
    visit(pair->forward);
    visit(pair->backward);
  } else {
    visit(std::get<Action>(cell));
  }
}

bool has_backward(const Schedule& schedule) {
  bool found = false;
  for (const auto& cells : schedule.ranks) {
    for (const Cell& cell : cells) {
      visit_actions(cell, [&](const Action& a) { found |= a.kind != ActionKind::Forward; });
    }
  }
  return found;
}

class ComputeLevel {
 public:
  ComputeLevel(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        num_stages_(schedule.map.num_stages()),
        ranks_(schedule.ranks.size()),
        forward_(static_cast<std::size_t>(num_stages_) * schedule.num_micro_batches, kNotYet),
        gradient_(forward_) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].events.reserve(schedule.ranks[rank].size());
      runnable_.push_back(rank);
    }
  }

  Timeline run() {
    while (!runnable_.empty()) {
      const std::size_t rank = runnable_.front();
      runnable_.pop_front();
      bool moved = false;
      while (ranks_[rank].events.size() < schedule_.ranks[rank].size() && run_next(rank)) {
        moved = true;
      }
      if (!moved) continue;
      runnable_.insert(runnable_.end(), ranks_[rank].waiting.begin(), ranks_[rank].waiting.end());
      ranks_[rank].waiting.clear();
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].events.size() < schedule_.ranks[rank].size()) throw_stuck();
    }
    return finish();
  }

 private:
  struct RankState {
    double free = 0;
    std::vector<Event> events;         // one for each cell that has run
    std::vector<std::size_t> waiting;  // ranks that need something of this one
  };
  // What has to be done before a cell: a stage's output, or its input's gradient (by B or I).
  struct Need {
    double time = kNotYet;
    std::size_t rank = 0;
  };

  // Past the last stage or micro-batch there is nothing to run or to wait for.
  std::size_t slot(Stage stage, MicroBatch m) const {
    const bool known = stage.value >= 0 && stage.value < num_stages_ && m.value >= 0 &&
                       m.value < schedule_.num_micro_batches;
    if (!known) throw_stuck();
    return static_cast<std::size_t>(stage.value) * schedule_.num_micro_batches + m.value;
  }

  Need forward_of(Stage stage, MicroBatch m) const {
    return {forward_[slot(stage, m)], rank_of(stage)};
  }
  Need gradient_of(Stage stage, MicroBatch m) const {
    return {gradient_[slot(stage, m)], rank_of(stage)};
  }
  std::size_t rank_of(Stage stage) const { return schedule_.map.rank_of(stage).value; }

  // Calls visit(Need) for everything that the action needs.
  template <class Visit>
  void visit_needs(const Action& action, Visit visit) const {
    const Stage stage = action.stage;
    const MicroBatch m = action.micro_batch;
    switch (action.kind) {
      case ActionKind::Forward:
        if (stage.value > 0) visit(forward_of(Stage(stage.value - 1), m));
        return;
      case ActionKind::Backward:
      case ActionKind::Dgrad:
        visit(forward_of(stage, m));
        if (stage.value + 1 < num_stages_) visit(gradient_of(Stage(stage.value + 1), m));
        return;
      case ActionKind::Wgrad:
        visit(gradient_of(stage, m));
        return;
      case ActionKind::SendForward:
      case ActionKind::RecvForward:
      case ActionKind::SendBackward:
      case ActionKind::RecvBackward:
      case ActionKind::ReduceGrad:
        break;
    }
    throw InternalError("simulate: the compute level holds F, B, I, W and pairs only");
  }

  // False if the rank now waits; it is woken when the rank that it waits for gets on.
  bool run_next(std::size_t rank) {
    RankState& state = ranks_[rank];
    const Cell& cell = schedule_.ranks[rank][state.events.size()];
    double start = state.free;
    std::optional<std::size_t> missing_from;
    visit_actions(cell, [&](const Action& action) {
      visit_needs(action, [&](const Need& need) {
        if (need.time == kNotYet) missing_from = need.rank;
        start = std::max(start, need.time + (need.rank == rank ? 0 : costs_.p2p));
      });
    });
    if (missing_from) {
      // What the rank itself has not done, it never will: what is missing comes after this cell.
      if (*missing_from != rank) ranks_.at(*missing_from).waiting.push_back(rank);
      return false;
    }
    state.free = start + costs_.of_cell(cell);
    state.events.push_back({Lane::Compute, cell, start, state.free, {}});
    visit_actions(cell, [&](const Action& action) {
      if (action.kind == ActionKind::Wgrad) return;
      auto& times = action.kind == ActionKind::Forward ? forward_ : gradient_;
      times[slot(action.stage, action.micro_batch)] = state.free;
    });
    return true;
  }

  // Tells why by the verifiers.
  [[noreturn]] void throw_stuck() const {
    std::vector<Finding> findings = verify_order(schedule_, !has_backward(schedule_));
    weft_assert(!findings.empty(), "an order that verifies can be simulated");
    throw PlanError(std::move(findings));
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
  const int num_stages_;
  std::vector<RankState> ranks_;
  std::vector<double> forward_;   // [stage, micro-batch] end of F
  std::vector<double> gradient_;  // [stage, micro-batch] end of B or I
  std::deque<std::size_t> runnable_;
};

}  // namespace

Timeline simulate(const Schedule& schedule, const Costs& costs) {
  weft_assert(is_compute_level(schedule), "simulate: a schedule at the compute level");
  return ComputeLevel(schedule, costs).run();
}

}  // namespace weft
