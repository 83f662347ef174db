// What `--timeline FILE.json` holds: Chrome trace events, which Perfetto opens, and behind them the
// timelines as they are, which `weft report` reads back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "timeline/timeline.h"

namespace weft {

struct TimelineFile {
  std::string title;                  // schedule and sizes, for a person
  std::optional<std::int64_t> step;   // of the training run
  Timeline timeline;                  // measured, or simulated
  std::optional<Timeline> predicted;  // of a measured one

  bool operator==(const TimelineFile&) const = default;
};

// print_perfetto() of the timeline, with the whole of `file` under the key `weft` behind the
// events: Perfetto stops reading at a key that it does not know.
std::string print_timeline_file(const TimelineFile& file);

// Gives back an equal value, bit for bit. Throws UserError, rule "timeline-file", with `source` and
// the place of what is damaged or missing; times that are not finite or end before they start are
// refused too.
TimelineFile parse_timeline_file(std::string_view text, const std::string& source);

}  // namespace weft
