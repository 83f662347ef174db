#include "passes/join_cells.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "passes/cell_times.h"

namespace weft {
namespace {

// Units that the first half waits for the second one.
constexpr int kPatience = 3;
constexpr int kMaxChains = 2;
constexpr int kNotYet = -1;

bool is_backward(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::Dgrad;
}

// A rank's compute cells and where its steady phase begins and ends among them.
struct RankCells {
  std::vector<int> places;  // in the rank's list
  std::size_t steady_begin = 0;
  std::size_t steady_end = 0;
};

RankCells find_cells(const std::vector<Cell>& cells) {
  RankCells found;
  std::optional<std::size_t> first_pair, first_backward;
  std::size_t behind_pair = 0, behind_forward = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t n = found.places.size();
    if (std::holds_alternative<ActionPair>(cells[i])) {
      if (!first_pair) first_pair = n;
      behind_pair = n + 1;
    } else {
      const ActionKind kind = std::get<Action>(cells[i]).kind;
      if (!is_compute(kind)) continue;
      if (kind == ActionKind::Forward) behind_forward = n + 1;
      if (is_backward(kind) && !first_backward) first_backward = n;
    }
    found.places.push_back(static_cast<int>(i));
  }
  found.steady_begin = first_pair.value_or(first_backward.value_or(found.places.size()));
  found.steady_end = first_pair ? behind_pair : behind_forward;
  return found;
}

// Runs all ranks along one clock and notes what is joined on the way.
class Joiner {
 public:
  explicit Joiner(const Schedule& schedule)
      : schedule_(schedule),
        num_stages_(schedule.map.num_stages()),
        forward_(static_cast<std::size_t>(num_stages_) * schedule.num_micro_batches, kNotYet),
        backward_(forward_) {
    for (const auto& cells : schedule.ranks) ranks_.push_back({find_cells(cells), 0, 0, {}, {}});
  }

  // [rank] how many of its compute cells are one, in turn.
  std::vector<std::vector<int>> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) wake(0, static_cast<int>(rank));
    while (!wakes_.empty()) {
      const auto [time, rank] = wakes_.top();
      wakes_.pop();
      run_rank(rank, time);
    }
    std::vector<std::vector<int>> groups;
    for (RankState& rank : ranks_) {
      weft_assert(rank.next == rank.cells.places.size(), "a verified plan ends");
      groups.push_back(std::move(rank.groups));
    }
    return groups;
  }

 private:
  struct RankState {
    RankCells cells;
    std::size_t next = 0;
    int free = 0;
    std::optional<int> ready_since;  // its next cell, which waits for company
    std::vector<int> groups;
  };

  void wake(int time, int rank) { wakes_.emplace(time, rank); }

  const Cell& cell(int rank, std::size_t index) const {
    return schedule_.ranks[rank][ranks_[rank].cells.places[index]];
  }

  int& end_of(std::vector<int>& ends, int stage, MicroBatch m) {
    return ends[static_cast<std::size_t>(stage) * schedule_.num_micro_batches + m.value];
  }

  // True if the action's input was computed by then.
  bool is_ready(const Action& action, int time) {
    const int stage = action.stage.value;
    int end = 0;
    if (action.kind == ActionKind::Forward) {
      if (stage > 0) end = end_of(forward_, stage - 1, action.micro_batch);
    } else if (is_backward(action.kind)) {
      end = stage + 1 < num_stages_ ? end_of(backward_, stage + 1, action.micro_batch)
                                    : end_of(forward_, stage, action.micro_batch);
    }
    return end != kNotYet && end <= time;
  }

  // How many cells from `first` on can be one, at most.
  int group_size(int rank, std::size_t first) const {
    const RankCells& cells = ranks_[rank].cells;
    const bool warm_up = first < cells.steady_begin;
    if (!warm_up && first < cells.steady_end) return 1;
    const std::size_t end = warm_up ? cells.steady_begin : cells.places.size();
    std::vector<Action> chains;
    std::size_t i = first;
    for (; i < end; ++i) {
      const Action& action = std::get<Action>(cell(rank, i));
      const bool depends = std::any_of(chains.begin(), chains.end(), [&](const Action& other) {
        return other.micro_batch == action.micro_batch;
      });
      if (depends || warm_up != (action.kind == ActionKind::Forward)) break;
      if (action.kind == ActionKind::Wgrad) continue;
      if (static_cast<int>(chains.size()) == kMaxChains) break;
      chains.push_back(action);
    }
    // W's alone have no wires.
    return chains.empty() ? 1 : std::max(1, static_cast<int>(i - first));
  }

  // How many of them have their inputs.
  int num_ready(int rank, std::size_t first, int size, int time) {
    int ready = 0;
    for (; ready < size; ++ready) {
      for (const Action& action : compute_actions(cell(rank, first + ready))) {
        if (!is_ready(action, time)) return ready;
      }
    }
    return ready;
  }

  bool has_chain(int rank, std::size_t first, int count) const {
    for (int i = 0; i < count; ++i) {
      const Action* action = std::get_if<Action>(&cell(rank, first + i));
      if (action == nullptr || action->kind != ActionKind::Wgrad) return true;
    }
    return false;
  }

  // W's alone fill the wait for what comes behind them; a chain waits for company.
  void run_rank(int rank, int time) {
    RankState& state = ranks_[rank];
    if (time < state.free || state.next == state.cells.places.size()) return;
    const int size = group_size(rank, state.next);
    const int ready = num_ready(rank, state.next, size, time);
    if (ready == 0) return;  // woken when its input is there
    if (ready < size && has_chain(rank, state.next, ready)) {
      if (!state.ready_since) {
        state.ready_since = time;
        wake(time + kPatience, rank);
      }
      if (time < *state.ready_since + kPatience) return;
    }
    state.ready_since.reset();
    state.groups.push_back(ready);
    run_cells(rank, ready, time);
  }

  void run_cells(int rank, int count, int time) {
    RankState& state = ranks_[rank];
    std::vector<Action> actions;
    int end = time;
    for (int i = 0; i < count; ++i) {
      for (const Action& action : compute_actions(cell(rank, state.next++))) {
        end += action.kind == ActionKind::Backward ? 2 : 1;
        actions.push_back(action);
      }
    }
    state.free = end;
    wake(end, rank);
    for (const Action& action : actions) {
      const int stage = action.stage.value;
      if (action.kind == ActionKind::Forward) {
        end_of(forward_, stage, action.micro_batch) = end;
        if (stage + 1 < num_stages_) wake(end, schedule_.map.rank_of(Stage(stage + 1)).value);
      } else if (is_backward(action.kind)) {
        end_of(backward_, stage, action.micro_batch) = end;
        if (stage > 0) wake(end, schedule_.map.rank_of(Stage(stage - 1)).value);
      }
    }
  }

  const Schedule& schedule_;
  const int num_stages_;
  std::vector<int> forward_;   // [stage, micro-batch] end of F
  std::vector<int> backward_;  // [stage, micro-batch] end of B or I
  std::vector<RankState> ranks_;
  using Wake = std::pair<int, int>;  // time, rank
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

bool is_receive(const Cell& cell) {
  const Action* action = std::get_if<Action>(&cell);
  return action != nullptr &&
         (action->kind == ActionKind::RecvForward || action->kind == ActionKind::RecvBackward);
}

// The rank's cells with joined ones next to each other, and how many each is.
void move_transfers(const std::vector<Cell>& cells, const std::vector<int>& groups,
                    std::vector<Cell>& out, std::vector<int>& num_joined) {
  const auto append = [&](const Cell& cell, int joined) {
    out.push_back(cell);
    num_joined.push_back(joined);
  };
  std::size_t next = 0;
  for (int size : groups) {
    std::vector<Cell> joined, behind;
    for (; static_cast<int>(joined.size()) < size; ++next) {
      if (!compute_actions(cells[next]).empty()) {
        joined.push_back(cells[next]);
      } else if (joined.empty() || is_receive(cells[next])) {
        append(cells[next], 1);
      } else {
        behind.push_back(cells[next]);
      }
    }
    for (std::size_t i = 0; i < joined.size(); ++i) append(joined[i], i == 0 ? size : 0);
    for (const Cell& cell : behind) append(cell, 1);
  }
  for (; next < cells.size(); ++next) append(cells[next], 1);
}

}  // namespace

JoinedSchedule join_nothing(Schedule transfers) {
  JoinedSchedule result{std::move(transfers), {}};
  for (const auto& cells : result.schedule.ranks) result.num_joined.emplace_back(cells.size(), 1);
  return result;
}

JoinedSchedule join_cells(const Schedule& transfers) {
  const std::vector<std::vector<int>> groups = Joiner(transfers).run();
  JoinedSchedule result{{transfers.map, transfers.num_micro_batches, {}}, {}};
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    move_transfers(transfers.ranks[rank], groups[rank], result.schedule.ranks.emplace_back(),
                   result.num_joined.emplace_back());
  }
  return result;
}

}  // namespace weft
