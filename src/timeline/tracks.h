// Events sorted onto tracks for drawing.
#pragma once

#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace weft {

// Events of one lane of a rank that do not overlap, in order of start. Hand-overs on different
// edges can be under way at once, so a lane may need several tracks.
struct Track {
  Lane lane = Lane::Compute;
  std::string name;  // of the lane; "P2P forward 2" from the second one on
  std::vector<const Event*> events;
};

// Lanes in the order of the enum, without those that are empty. Points into `rank`.
std::vector<Track> tracks_of(const RankTimeline& rank);

// `0F3`, `0F4;7B1`, a step or a wire as schedule/text.h prints it.
std::string short_text(const Event& event);

}  // namespace weft
