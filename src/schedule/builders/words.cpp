#include "schedule/builders/words.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace weft {
namespace {

std::optional<Cell> keep(const Cell& cell, int num_micro_batches) {
  const auto exists = [&](const Action& action) {
    return action.micro_batch.value < num_micro_batches;
  };
  if (const Action* action = std::get_if<Action>(&cell)) {
    return exists(*action) ? std::optional<Cell>(cell) : std::nullopt;
  }
  const ActionPair& pair = std::get<ActionPair>(cell);
  if (exists(pair.forward) && exists(pair.backward)) return cell;
  if (exists(pair.forward)) return pair.forward;
  if (exists(pair.backward)) return pair.backward;
  return std::nullopt;
}

}  // namespace

std::vector<Cell> forward_backward_in_turn(Stage stage, int warm_up, int num_micro_batches) {
  std::vector<Cell> cells;
  const int ahead = std::min(warm_up, num_micro_batches);
  for (int m = 0; m < ahead; ++m) cells.push_back(forward(stage, m));
  for (int m = 0; m < num_micro_batches; ++m) {
    if (ahead + m < num_micro_batches) cells.push_back(forward(stage, ahead + m));
    cells.push_back(backward(stage, m));
  }
  return cells;
}

std::vector<Cell> split_backwards(const std::vector<Cell>& cells, int most_pending) {
  std::vector<Cell> split;
  std::deque<Action> pending;
  const auto run_oldest = [&] {
    split.push_back(pending.front());
    pending.pop_front();
  };
  for (const Cell& cell : cells) {
    const Action* action = std::get_if<Action>(&cell);
    if (action == nullptr || action->kind != ActionKind::Backward) {
      split.push_back(cell);
      continue;
    }
    split.push_back(dgrad(action->stage, action->micro_batch.value));
    pending.push_back(wgrad(action->stage, action->micro_batch.value));
    if (static_cast<int>(pending.size()) > most_pending) run_oldest();
  }
  while (!pending.empty()) run_oldest();
  return split;
}

Schedule keep_micro_batches(const Schedule& schedule, int num_micro_batches) {
  Schedule kept{schedule.map, num_micro_batches, {}};
  for (const auto& cells : schedule.ranks) {
    auto& rank = kept.ranks.emplace_back();
    for (const Cell& cell : cells) {
      if (const auto left = keep(cell, num_micro_batches)) rank.push_back(*left);
    }
  }
  return kept;
}

}  // namespace weft
