// A timeline as one HTML page that opens without a network.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace weft {

// Rows per rank and lane on a canvas with zoom and pan; hovering shows action, start, end, duration
// and what is waited for; idle time is split into exposed communication and bubble; a table with
// the metrics per rank. `title` is the page's heading.
std::string print_html(const Timeline& timeline, const std::string& title = "Timeline");

}  // namespace weft
