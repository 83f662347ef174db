#include "schedule/schedule.h"

#include <algorithm>
#include <map>
#include <optional>

namespace weft {
namespace {

bool computes(const Cell& cell) {
  const Action* action = std::get_if<Action>(&cell);
  return action == nullptr || is_compute(action->kind);
}

// The action of a cell that adds to a weight's gradient.
std::optional<Action> wgrad_of(const Cell& cell) {
  const Action* single = std::get_if<Action>(&cell);
  const Action action = single != nullptr ? *single : std::get<ActionPair>(cell).backward;
  const bool adds = action.kind == ActionKind::Wgrad || action.kind == ActionKind::Backward;
  return adds ? std::optional(action) : std::nullopt;
}

}  // namespace

bool is_compute_level(const Schedule& schedule) {
  return std::ranges::all_of(schedule.ranks, [](const std::vector<Cell>& cells) {
    return std::ranges::all_of(cells, computes);
  });
}

Schedule compute_level(const Schedule& schedule) {
  Schedule result = schedule;
  for (std::vector<Cell>& cells : result.ranks) {
    std::erase_if(cells, [](const Cell& cell) { return !computes(cell); });
  }
  return result;
}

bool has_pairs(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const std::vector<Cell>& cells) {
    return std::ranges::any_of(
        cells, [](const Cell& cell) { return std::holds_alternative<ActionPair>(cell); });
  });
}

std::vector<std::pair<Action, Action>> falling_wgrads(const Schedule& schedule) {
  std::vector<std::pair<Action, Action>> falling;
  for (const std::vector<Cell>& cells : schedule.ranks) {
    std::map<Stage, Action> last;
    std::map<Stage, std::pair<Action, Action>> found;
    for (const Cell& cell : cells) {
      const std::optional<Action> wgrad = wgrad_of(cell);
      if (!wgrad) continue;
      const auto [at, first] = last.emplace(wgrad->stage, *wgrad);
      if (!first && wgrad->micro_batch < at->second.micro_batch) {
        found.emplace(wgrad->stage, std::pair(at->second, *wgrad));
      }
      at->second = *wgrad;
    }
    for (const auto& [stage, actions] : found) falling.push_back(actions);
  }
  return falling;
}

}  // namespace weft
