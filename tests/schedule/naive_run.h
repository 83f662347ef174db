// Runs a compute-level schedule by trying every rank's next cell over and over: slow, and sharing
// nothing with the simulator.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace weft::testing {

// Whole numbers, so that closed forms hold exactly.
struct NaiveCosts {
  long forward = 1;
  long dgrad = 1;
  long wgrad = 1;
  long pair = 3;
};

struct NaiveRank {
  long busy = 0;
  long start = -1;       // of its first cell
  long end = 0;          // of its last cell
  int peak_live = 0;     // forwards started whose B or I has not ended
  int peak_pending = 0;  // I's whose W has not ended
};

struct NaiveResult {
  bool finished = false;  // false: every rank waits for another
  long makespan = 0;
  std::vector<NaiveRank> ranks;

  long idle(int rank) const { return makespan - ranks[rank].busy; }
  // Idle between the rank's first and last cell.
  long idle_within(int rank) const {
    return ranks[rank].end - ranks[rank].start - ranks[rank].busy;
  }
};

class NaiveRun {
 public:
  NaiveRun(const Schedule& schedule, const NaiveCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        forward_end_(schedule.map.num_stages() * schedule.num_micro_batches, -1),
        gradient_end_(forward_end_) {}

  NaiveResult run() {
    const std::size_t ranks = schedule_.ranks.size();
    std::vector<std::size_t> next(ranks, 0);
    std::vector<long> free_at(ranks, 0);
    std::vector<std::pair<int, int>> live(ranks);  // chunks, pending W's
    NaiveResult result{false, 0, std::vector<NaiveRank>(ranks)};
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < ranks; ++r) {
        while (next[r] < schedule_.ranks[r].size()) {
          const auto actions = actions_of(schedule_.ranks[r][next[r]]);
          const auto ready = ready_at(actions);
          if (!ready) break;
          const long length = cost(actions);
          const long start = std::max(free_at[r], *ready);
          free_at[r] = start + length;
          if (result.ranks[r].start < 0) result.ranks[r].start = start;
          result.ranks[r].end = free_at[r];
          result.ranks[r].busy += length;
          count(actions, live[r], result.ranks[r]);
          for (const Action& action : actions) finish(action, free_at[r]);
          ++next[r];
          moved = true;
        }
      }
    }
    result.finished = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      result.finished = result.finished && next[r] == schedule_.ranks[r].size();
      result.makespan = std::max(result.makespan, free_at[r]);
    }
    return result;
  }

  static std::vector<Action> actions_of(const Cell& cell) {
    if (const auto* pair = std::get_if<ActionPair>(&cell)) return {pair->forward, pair->backward};
    return {std::get<Action>(cell)};
  }

 private:
  std::size_t index(int stage, int micro_batch) const {
    return static_cast<std::size_t>(stage) * schedule_.num_micro_batches + micro_batch;
  }

  std::optional<long> ready_at(const std::vector<Action>& actions) const {
    long ready = 0;
    const auto need = [&](const std::vector<long>& ends, int stage, int micro_batch) {
      const long end = ends[index(stage, micro_batch)];
      ready = std::max(ready, end);
      return end >= 0;
    };
    for (const Action& action : actions) {
      const int s = action.stage.value;
      const int m = action.micro_batch.value;
      switch (action.kind) {
        case ActionKind::Forward:
          if (s > 0 && !need(forward_end_, s - 1, m)) return std::nullopt;
          break;
        case ActionKind::Backward:
        case ActionKind::Dgrad:
          if (!need(forward_end_, s, m)) return std::nullopt;
          if (s + 1 < schedule_.map.num_stages() && !need(gradient_end_, s + 1, m)) {
            return std::nullopt;
          }
          break;
        case ActionKind::Wgrad:
          if (!need(gradient_end_, s, m)) return std::nullopt;
          break;
        default:
          return std::nullopt;
      }
    }
    return ready;
  }

  long cost(const std::vector<Action>& actions) const {
    if (actions.size() == 2) return costs_.pair;
    switch (actions[0].kind) {
      case ActionKind::Forward:
        return costs_.forward;
      case ActionKind::Dgrad:
        return costs_.dgrad;
      case ActionKind::Wgrad:
        return costs_.wgrad;
      default:
        return costs_.dgrad + costs_.wgrad;
    }
  }

  void finish(const Action& action, long end) {
    if (action.kind == ActionKind::Wgrad) return;
    auto& ends = action.kind == ActionKind::Forward ? forward_end_ : gradient_end_;
    ends[index(action.stage.value, action.micro_batch.value)] = end;
  }

  static void count(const std::vector<Action>& actions, std::pair<int, int>& live,
                    NaiveRank& rank) {
    for (const Action& action : actions) {
      if (action.kind == ActionKind::Forward) ++live.first;
      if (action.kind == ActionKind::Dgrad) ++live.second;
      rank.peak_live = std::max(rank.peak_live, live.first);
      rank.peak_pending = std::max(rank.peak_pending, live.second);
    }
    for (const Action& action : actions) {
      const bool ends = action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad;
      if (ends) --live.first;
      if (action.kind == ActionKind::Wgrad) --live.second;
    }
  }

  const Schedule& schedule_;
  NaiveCosts costs_;
  std::vector<long> forward_end_;   // [stage, micro-batch], -1: not yet
  std::vector<long> gradient_end_;  // of the input gradient, as forward_end_
};

inline NaiveResult naive_run(const Schedule& schedule, const NaiveCosts& costs = {}) {
  return NaiveRun(schedule, costs).run();
}

// Empty if every (stage, micro-batch) has one F and either one B or one I before one W, all on the
// stage's rank, with the W's of a stage in rising order of micro-batches; else what is wrong.
inline std::string fault_of(const Schedule& schedule) {
  const StageMap& map = schedule.map;
  const int total = schedule.num_micro_batches;
  struct Seen {
    int f = 0, b = 0, i = 0, w = 0;
  };
  std::vector<Seen> seen(map.num_stages() * total);
  std::vector<int> last_wgrad(map.num_stages(), -1);
  for (int r = 0; r < map.num_ranks; ++r) {
    for (const Cell& cell : schedule.ranks[r]) {
      for (const Action& action : NaiveRun::actions_of(cell)) {
        const int s = action.stage.value;
        const int m = action.micro_batch.value;
        const auto fault = [&](const char* what) {
          return "stage " + std::to_string(s) + " micro-batch " + std::to_string(m) + what;
        };
        if (s < 0 || s >= map.num_stages() || m < 0 || m >= total) return fault(" does not exist");
        if (map.rank_of(action.stage) != Rank(r)) return fault(" on the wrong rank");
        Seen& at = seen[s * total + m];
        if (action.kind == ActionKind::Forward) ++at.f;
        if (action.kind == ActionKind::Backward) ++at.b;
        if (action.kind == ActionKind::Dgrad) ++at.i;
        if (action.kind == ActionKind::Wgrad) ++at.w;
        if (action.kind == ActionKind::Wgrad && at.i != 1) return fault(": W before I");
        if (action.kind == ActionKind::Backward || action.kind == ActionKind::Wgrad) {
          if (m <= last_wgrad[s]) return fault(": W out of order");
          last_wgrad[s] = m;
        }
      }
    }
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const auto [f, b, i, w] = seen[k];
    if (f == 1 && ((b == 1 && i + w == 0) || (b == 0 && i == 1 && w == 1))) continue;
    return "stage " + std::to_string(k / total) + " micro-batch " + std::to_string(k % total) +
           " not exactly once";
  }
  return "";
}

}  // namespace weft::testing
