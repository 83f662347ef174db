#include "timeline/needs.h"

#include <map>

namespace weft {
namespace {

std::vector<Action> actions_of(const Event& event) {
  const Cell* cell = std::get_if<Cell>(&event.label);
  if (cell == nullptr) return {};
  if (const auto* pair = std::get_if<ActionPair>(cell)) return {pair->forward, pair->backward};
  return {std::get<Action>(*cell)};
}

// A full backward makes what its input gradient half makes.
Action product_of(Action action) {
  if (action.kind == ActionKind::Backward) action.kind = ActionKind::Dgrad;
  return action;
}

std::vector<Action> needs_of(const Action& action) {
  const MicroBatch m = action.micro_batch;
  const auto at = [&](ActionKind kind, int offset) {
    return Action{kind, Stage(action.stage.value + offset), m};
  };
  switch (action.kind) {
    case ActionKind::Forward:
      return {at(ActionKind::Forward, -1)};
    case ActionKind::Backward:
    case ActionKind::Dgrad:
      return {at(ActionKind::Forward, 0), at(ActionKind::Dgrad, 1)};
    case ActionKind::Wgrad:
      return {at(ActionKind::Dgrad, 0)};
    case ActionKind::SendForward:
    case ActionKind::RecvForward:
    case ActionKind::SendBackward:
    case ActionKind::RecvBackward:
    case ActionKind::ReduceGrad:
      break;
  }
  return {};
}

}  // namespace

std::vector<std::vector<Need>> last_needs(const Timeline& timeline) {
  std::map<Action, Need> makers;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      for (const Action& action : actions_of(event)) {
        makers.try_emplace(product_of(action), Need{&event, rank.rank});
      }
    }
  }
  std::vector<std::vector<Need>> needs;
  for (const RankTimeline& rank : timeline.ranks) {
    std::vector<Need>& of_rank = needs.emplace_back();
    for (const Event& event : rank.events) {
      Need& last = of_rank.emplace_back();
      for (const Action& action : actions_of(event)) {
        for (const Action& need : needs_of(action)) {
          const auto found = makers.find(need);
          if (found == makers.end()) continue;
          const Need& maker = found->second;
          if (last.event == nullptr || maker.event->end > last.event->end) last = maker;
        }
      }
    }
  }
  return needs;
}

}  // namespace weft
