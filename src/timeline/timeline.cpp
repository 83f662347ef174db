#include "timeline/timeline.h"

#include <algorithm>

#include "base/error.h"
#include "schedule/text.h"

namespace weft {

Lane lane_of(WireKind kind) {
  switch (kind) {
    case WireKind::Counts:
      return Lane::Counts;
    case WireKind::Dispatch:
    case WireKind::CombineBackward:
      return Lane::Dispatch;
    case WireKind::Combine:
    case WireKind::DispatchBackward:
      return Lane::Combine;
    case WireKind::SendForward:
    case WireKind::RecvForward:
      return Lane::P2pForward;
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
      return Lane::P2pBackward;
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return Lane::ReduceGrad;
  }
  throw InternalError("wire kind without a lane");
}

const char* name_of(Lane lane) {
  switch (lane) {
    case Lane::Compute:
      return "compute";
    case Lane::Counts:
      return "counts";
    case Lane::Dispatch:
      return "dispatch";
    case Lane::Combine:
      return "combine";
    case Lane::P2pForward:
      return "P2P forward";
    case Lane::P2pBackward:
      return "P2P backward";
    case Lane::ReduceGrad:
      return "reduce gradients";
    case Lane::Swap:
      return "swap";
  }
  throw InternalError("lane without a name");
}

const Wire* wire_of(const Event& event) {
  const Step* step = std::get_if<Step>(&event.label);
  if (step == nullptr) return nullptr;
  if (const auto* start = std::get_if<StartWire>(step)) return &start->wire;
  if (const auto* wait = std::get_if<WaitWire>(step)) return &wait->wire;
  return nullptr;
}

bool is_work(const Event& event) {
  return event.lane == Lane::Compute && wire_of(event) == nullptr;
}

const char* work_name(const Event& work) {
  if (const Step* step = std::get_if<Step>(&work.label)) {
    if (std::holds_alternative<RunForward>(*step)) return "forward";
    if (std::holds_alternative<RunDgrad>(*step)) return "dgrad";
    return "wgrad";
  }
  const Cell& cell = std::get<Cell>(work.label);
  if (std::holds_alternative<ActionPair>(cell)) return "pair";
  switch (std::get<Action>(cell).kind) {
    case ActionKind::Forward:
      return "forward";
    case ActionKind::Dgrad:
      return "dgrad";
    case ActionKind::Wgrad:
      return "wgrad";
    default:
      return "backward";
  }
}

std::string event_text(const Event& event) {
  if (const Wire* wire = wire_of(event)) return print(*wire);
  return std::visit([](const auto& label) { return print(label); }, event.label);
}

void sort_events(std::vector<Event>& events) {
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.start != b.start ? a.start < b.start : a.lane < b.lane;
  });
}

}  // namespace weft
