// How many chunks' activations a rank holds, over time.
#pragma once

#include <vector>

#include "timeline/timeline.h"

namespace weft {

struct LiveSample {
  double time = 0;
  int chunks = 0;  // from here on

  bool operator==(const LiveSample&) const = default;
};

// One sample per change, in order of time. A chunk is live from the start of its F to the end of
// its B, of its I where it is split (at the steps level of its last dgrad; where it has none, of
// its last wgrad); at equal times ends count before starts (cli.md). At the compute level the peak
// is that of count_live().
std::vector<LiveSample> live_chunks(const RankTimeline& rank);

}  // namespace weft
