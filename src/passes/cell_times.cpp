#include "passes/cell_times.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/error.h"

namespace weft {
namespace {

constexpr int kNotYet = -1;

int duration(ActionKind kind) { return kind == ActionKind::Backward ? 2 : 1; }

class Clock {
 public:
  Clock(const Schedule& schedule, const std::vector<std::vector<int>>& num_joined)
      : schedule_(schedule),
        num_joined_(num_joined),
        num_stages_(schedule.map.num_stages()),
        forward_(num_stages_ * schedule.num_micro_batches, kNotYet),
        backward_(forward_),
        waiting_(schedule.ranks.size()) {}

  CellTimes run() {
    const std::size_t ranks = schedule_.ranks.size();
    times_.start.resize(ranks);
    times_.end.resize(ranks);
    std::deque<int> ready;
    for (std::size_t r = 0; r < ranks; ++r) ready.push_back(static_cast<int>(r));
    while (!ready.empty()) {
      const int rank = ready.front();
      ready.pop_front();
      if (!run_rank(rank)) continue;
      for (int other : waiting_[rank]) ready.push_back(other);
      waiting_[rank].clear();
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      weft_assert(times_.end[r].size() == schedule_.ranks[r].size(), "a verified order ends");
    }
    return std::move(times_);
  }

 private:
  int& at(std::vector<int>& ends, int stage, MicroBatch m) {
    return ends[stage * schedule_.num_micro_batches + m.value];
  }

  // When the cell may start; empty, with the rank put on a waiting list, if that is not known yet.
  std::optional<int> ready_time(int rank, const std::vector<Action>& actions) {
    int time = times_.end[rank].empty() ? 0 : times_.end[rank].back();
    for (const Action& action : actions) {
      const int stage = action.stage.value;
      int from = stage;
      int end = 0;
      if (action.kind == ActionKind::Forward && stage > 0) {
        from = stage - 1;
        end = at(forward_, from, action.micro_batch);
      } else if (action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad) {
        from = std::min(stage + 1, num_stages_ - 1);
        end = from == stage ? at(forward_, stage, action.micro_batch)
                            : at(backward_, from, action.micro_batch);
      }
      if (end == kNotYet) {
        waiting_[schedule_.map.rank_of(Stage(from)).value].push_back(rank);
        return std::nullopt;
      }
      time = std::max(time, end);
    }
    return time;
  }

  // True if at least one cell ran.
  bool run_rank(int rank) {
    const auto& cells = schedule_.ranks[rank];
    const std::size_t from = times_.end[rank].size();
    while (times_.end[rank].size() < cells.size()) {
      const std::size_t cell = times_.end[rank].size();
      const int joined = num_joined_.empty() ? 1 : num_joined_[rank][cell];
      std::vector<Action> actions;
      for (int i = 0; i < joined; ++i) {
        const std::vector<Action> more = compute_actions(cells[cell + i]);
        actions.insert(actions.end(), more.begin(), more.end());
      }
      const std::optional<int> start = ready_time(rank, actions);
      if (!start) break;
      int end = *start;
      for (const Action& action : actions) end += duration(action.kind);
      for (const Action& action : actions) {
        if (action.kind == ActionKind::Wgrad) continue;
        auto& ends = action.kind == ActionKind::Forward ? forward_ : backward_;
        at(ends, action.stage.value, action.micro_batch) = end;
      }
      times_.start[rank].insert(times_.start[rank].end(), joined, *start);
      times_.end[rank].insert(times_.end[rank].end(), joined, end);
    }
    return times_.end[rank].size() > from;
  }

  const Schedule& schedule_;
  const std::vector<std::vector<int>>& num_joined_;
  const int num_stages_;
  std::vector<int> forward_;   // [stage, micro-batch] end of F
  std::vector<int> backward_;  // [stage, micro-batch] end of B or I
  std::vector<std::vector<int>> waiting_;
  CellTimes times_;
};

}  // namespace

CellTimes cell_times(const Schedule& schedule, const std::vector<std::vector<int>>& num_joined) {
  return Clock(schedule, num_joined).run();
}

std::vector<Action> compute_actions(const Cell& cell) {
  if (const ActionPair* pair = std::get_if<ActionPair>(&cell)) {
    return {pair->forward, pair->backward};
  }
  const Action& action = std::get<Action>(cell);
  if (!is_compute(action.kind)) return {};
  return {action};
}

}  // namespace weft
