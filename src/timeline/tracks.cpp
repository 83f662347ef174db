#include "timeline/tracks.h"

#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "schedule/text.h"

namespace weft {
namespace {

// The first track whose last event is over, or a new one.
Track& track_for(const Event& event, std::vector<Track>& tracks) {
  for (Track& track : tracks) {
    if (track.events.back()->end <= event.start) return track;
  }
  std::string name = name_of(event.lane);
  if (!tracks.empty()) name += " " + std::to_string(tracks.size() + 1);
  return tracks.emplace_back(Track{event.lane, name, {}});
}

char mark_of(const Cell& cell) {
  if (std::holds_alternative<ActionPair>(cell)) return 'P';
  switch (std::get<Action>(cell).kind) {
    case ActionKind::Forward:
      return 'F';
    case ActionKind::Dgrad:
      return 'I';
    case ActionKind::Wgrad:
      return 'W';
    case ActionKind::Backward:
      return 'B';
    case ActionKind::SendForward:
    case ActionKind::RecvForward:
      return 'f';
    case ActionKind::SendBackward:
    case ActionKind::RecvBackward:
      return 'r';
    case ActionKind::ReduceGrad:
      return 'c';
  }
  throw InternalError("action without a mark");
}

char mark_of(WireKind wire) {
  switch (wire) {
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::SendForward:
    case WireKind::RecvForward:
      return 'f';
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
      return 'r';
    case WireKind::Counts:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return 'c';
  }
  throw InternalError("wire kind without a mark");
}

std::vector<Stage> stages_of(const EventLabel& label) {
  if (const Cell* cell = std::get_if<Cell>(&label)) {
    if (const auto* pair = std::get_if<ActionPair>(cell)) {
      return {pair->forward.stage, pair->backward.stage};
    }
    return {std::get<Action>(*cell).stage};
  }
  const Step& step = std::get<Step>(label);
  if (const auto* forward = std::get_if<RunForward>(&step)) return {forward->segment.stage};
  if (const auto* dgrad = std::get_if<RunDgrad>(&step)) return {dgrad->segment.stage};
  if (const auto* wgrad = std::get_if<RunWgrad>(&step)) return {wgrad->segment.stage};
  return {};
}

}  // namespace

std::vector<Track> tracks_of(const RankTimeline& rank) {
  std::map<Lane, std::vector<Track>> lanes;
  for (const Event& event : rank.events) {
    track_for(event, lanes[event.lane]).events.push_back(&event);
  }
  std::vector<Track> tracks;
  for (auto& [lane, of_lane] : lanes) {
    tracks.insert(tracks.end(), std::make_move_iterator(of_lane.begin()),
                  std::make_move_iterator(of_lane.end()));
  }
  return tracks;
}

std::string short_text(const Event& event) {
  if (const Cell* cell = std::get_if<Cell>(&event.label)) {
    if (const auto* pair = std::get_if<ActionPair>(cell)) {
      return print(pair->forward) + ";" + print(pair->backward);
    }
  }
  return event_text(event);
}

char mark_of(const Event& event) {
  if (const Cell* cell = std::get_if<Cell>(&event.label)) return mark_of(*cell);
  if (const Wire* wire = wire_of(event)) return mark_of(wire->kind);
  const Step& step = std::get<Step>(event.label);
  if (std::holds_alternative<RunForward>(step)) return 'F';
  return std::holds_alternative<RunDgrad>(step) ? 'I' : 'W';
}

std::vector<Stage> stages_of(const RankTimeline& rank) {
  std::set<Stage> stages;
  for (const Event& event : rank.events) {
    for (const Stage stage : stages_of(event.label)) stages.insert(stage);
  }
  return {stages.begin(), stages.end()};
}

std::string name_of(const RankTimeline& rank) {
  std::string name = "rank " + std::to_string(rank.rank.value);
  if (rank.rank != rank.pp_rank) {
    name += " (pipeline " + std::to_string(rank.pp_rank.value) + ")";
  }
  return name;
}

}  // namespace weft
