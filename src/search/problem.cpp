#include "search/problem.h"

#include <algorithm>

#include "schedule/builders/words.h"

namespace weft {

SearchProblem make_problem(int num_ranks, int num_micro_batches, int max_live_chunks, bool pairs,
                           const CellCosts& costs) {
  SearchProblem problem{num_ranks, num_micro_batches, max_live_chunks, pairs, costs.p2p, {}};
  for (int r = 0; r < num_ranks; ++r) {
    auto& of_rank = problem.cost.emplace_back();
    const auto set = [&of_rank](Op op, double cost) {
      of_rank[static_cast<std::size_t>(op)] = cost;
    };
    for (int c = 0; c < 2; ++c) {
      const CellCosts::OfStage& stage = costs.stages[problem.stage_of(r, c)];
      set(forward_op(c), stage.forward);
      set(backward_op(c), stage.backward);
      set(dgrad_op(c), stage.dgrad);
      set(wgrad_op(c), stage.wgrad);
      for (int b = 0; b < 2; ++b) set(pair_op(c, b), costs.pairs[r][c][b]);
    }
  }
  return problem;
}

Schedule schedule_of(const Words& words, int num_micro_batches) {
  Schedule schedule{{static_cast<int>(words.size()), 2, Placement::V}, num_micro_batches, {}};
  for (int r = 0; r < static_cast<int>(words.size()); ++r) {
    std::vector<Cell>& cells = schedule.ranks.emplace_back();
    std::array<int, 2> forwards{}, dgrads{}, wgrads{};
    const auto stage = [&](int chunk) { return schedule.map.stage_of(Rank(r), Chunk(chunk)); };
    for (const Op op : words[r]) {
      const OpParts& parts = parts_of(op);
      const int f = parts.forward;
      const int d = parts.dgrad;
      const int w = parts.wgrad;
      if (d >= 0 && w >= 0) {
        const Action whole = backward(stage(d), dgrads[d]++);
        ++wgrads[d];
        if (f < 0) {
          cells.push_back(whole);
        } else {
          cells.push_back(ActionPair{forward(stage(f), forwards[f]++), whole});
        }
      } else if (f >= 0) {
        cells.push_back(forward(stage(f), forwards[f]++));
      } else if (d >= 0) {
        cells.push_back(dgrad(stage(d), dgrads[d]++));
      } else {
        cells.push_back(wgrad(stage(w), wgrads[w]++));
      }
    }
  }
  return schedule;
}

namespace {

// The op of a cell, and its micro-batches checked against the counters.
std::optional<Op> op_of(const Cell& cell, const StageMap& map, std::array<int, 6>& counts) {
  const auto take = [&](const Action& action, int kind) {
    const int chunk = map.chunk_of(action.stage).value;
    return counts[2 * kind + chunk]++ == action.micro_batch.value ? chunk : -1;
  };
  if (const auto* pair = std::get_if<ActionPair>(&cell)) {
    const int f = take(pair->forward, 0);
    const int b = take(pair->backward, 1);
    if (f < 0 || b < 0 || pair->backward.kind != ActionKind::Backward) return std::nullopt;
    return take(pair->backward, 2) < 0 ? std::nullopt : std::optional(pair_op(f, b));
  }
  const Action& action = std::get<Action>(cell);
  int chunk = -1;
  switch (action.kind) {
    case ActionKind::Forward:
      chunk = take(action, 0);
      return chunk < 0 ? std::nullopt : std::optional(forward_op(chunk));
    case ActionKind::Dgrad:
      chunk = take(action, 1);
      return chunk < 0 ? std::nullopt : std::optional(dgrad_op(chunk));
    case ActionKind::Wgrad:
      chunk = take(action, 2);
      return chunk < 0 ? std::nullopt : std::optional(wgrad_op(chunk));
    case ActionKind::Backward:
      chunk = take(action, 1);
      if (chunk < 0 || take(action, 2) < 0) return std::nullopt;
      return backward_op(chunk);
    case ActionKind::SendForward:
    case ActionKind::RecvForward:
    case ActionKind::SendBackward:
    case ActionKind::RecvBackward:
    case ActionKind::ReduceGrad:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Words> words_of(const Schedule& schedule) {
  if (schedule.map.placement != Placement::V) return std::nullopt;
  Words words;
  for (const std::vector<Cell>& cells : schedule.ranks) {
    Word& word = words.emplace_back();
    std::array<int, 6> counts{};
    for (const Cell& cell : cells) {
      const std::optional<Op> op = op_of(cell, schedule.map, counts);
      if (!op) return std::nullopt;
      word.push_back(*op);
    }
  }
  return words;
}

}  // namespace weft
