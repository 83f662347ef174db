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

// What an event is drawn as: F, B, I, W, P (a pair); f, r, c for wires forward, backward and
// neither; a wait is drawn as its wire.
char mark_of(const Event& event);

// Stages that the rank computes, in rising order: a chunk's place in it chooses its shade.
std::vector<Stage> stages_of(const RankTimeline& rank);

// `rank 3`, of a global rank `rank 3 (pipeline 1)`.
std::string name_of(const RankTimeline& rank);

}  // namespace weft
