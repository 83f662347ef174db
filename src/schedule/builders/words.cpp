#include "schedule/builders/words.h"

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
