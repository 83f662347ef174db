// Chrome trace events, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace weft {

// A process per rank, a track per lane; complete events in microseconds (of units 1 is drawn as
// 1 ms), a wait split where its wire got under way, an arrow from each send to its receive,
// activation bytes as a counter, or live chunks where bytes are not known. One event a line.
std::string print_perfetto(const Timeline& timeline);

}  // namespace weft
