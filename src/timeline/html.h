// Timelines as one HTML page that opens without a network.
#pragma once

#include <string>
#include <vector>

#include "timeline/table.h"
#include "timeline/timeline.h"

namespace weft {

struct PageTimeline {
  std::string label;  // `measured`, `predicted`
  Timeline timeline;
  std::string plan = {};  // schedule and sizes, may be empty
};

struct Page {
  std::string title;
  std::vector<PageTimeline> timelines;  // drawn over each other, rank by rank, on one axis
  std::vector<Table> tables;            // below the picture
};

// Rows per rank and lane on a canvas with zoom and pan, bubble and exposed communication shaded
// apart, and a curve of memory per rank: bytes where they were recorded, else live chunks. Hovering
// shows action, start, end, what is waited for, and the same action in the other timeline. A table
// with the metrics per rank.
std::string print_html(const Page& page);

}  // namespace weft
