#include "timeline/tracks.h"

#include <iterator>
#include <map>

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

}  // namespace weft
