// Times for a person.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

// Seconds of one h, min, s, ms, us or ns; empty for another unit.
std::optional<double> seconds_of(std::string_view unit);

// Times of one text in one unit.
struct TimeScale {
  double factor = 1;
  std::string unit;
  double longest = 1;  // in `unit`

  // Without the unit: what rounding has left of 0 is 0, what has no digit in the last place of
  // 0.0001 (or of the longest, if that is less) is `<0.0001`.
  std::string text(double time, int digits = 4) const;
};

// The unit in which a person reads a time of this length, given in `unit`: ns below 1 us, us
// below 1 ms, ms below 1 s, s below 2 min, min below 2 h, h. `unit` itself if it is none of time,
// or for 0.
TimeScale time_scale(double longest, const std::string& unit);

// One time in its own unit: `35.1 ms`, `3.91667 h`, `66 units`.
std::string print_time(double time, const std::string& unit, int digits = 6);

}  // namespace weft
