// Short words for literal timelines.
#pragma once

#include <string>
#include <vector>

#include "schedule/text.h"
#include "timeline/timeline.h"

namespace weft {

inline Event cell(const std::string& text, double start, double end) {
  return {Lane::Compute, parse_cell(text), start, end, {}};
}

// A compute step or a wait.
inline Event step(const std::string& text, double start, double end) {
  return {Lane::Compute, parse_step(text), start, end, {}};
}

inline Event wire(const std::string& text, double issued, double start, double end) {
  const Wire of = parse_wire(text);
  return {lane_of(of.kind), Step(StartWire{of}), start, end, issued};
}

// As a process records it: its own start alone.
inline Event raw_wire(const std::string& text, double start, double end) {
  Event event = wire(text, start, start, end);
  event.issued.reset();
  return event;
}

inline RankTimeline rank_of(int rank, double end, std::vector<Event> events) {
  return {Rank(rank), Rank(rank), end, std::move(events), {}, {}, {}};
}

}  // namespace weft
