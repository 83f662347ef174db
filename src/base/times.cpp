#include "base/times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/numbers.h"

namespace weft {
namespace {

struct TimeUnit {
  std::string_view name;
  double seconds = 1;
  double below = 0;  // seconds from which on the next unit is read
};

constexpr std::array<TimeUnit, 6> kUnits = {{{"ns", 1e-9, 1e-6},
                                             {"us", 1e-6, 1e-3},
                                             {"ms", 1e-3, 1},
                                             {"s", 1, 120},
                                             {"min", 60, 7200},
                                             {"h", 3600, 0}}};

}  // namespace

std::optional<double> seconds_of(std::string_view unit) {
  for (const TimeUnit& known : kUnits) {
    if (unit == known.name) return known.seconds;
  }
  return std::nullopt;
}

std::string TimeScale::text(double time, int digits) const {
  constexpr double kNothing = 1e-9;
  const double value = time * factor;
  const double least = std::pow(10, -digits) * std::min(1.0, longest);
  if (std::abs(value) < kNothing * longest || value == 0) return "0";
  return std::abs(value) < least ? "<" + print_rounded(least) : print_rounded(value, digits);
}

TimeScale time_scale(double longest, const std::string& unit) {
  const std::optional<double> seconds = seconds_of(unit);
  if (!seconds || longest == 0) return {1, unit, longest};
  const double length = std::abs(longest) * *seconds;
  for (const TimeUnit& known : kUnits) {
    // A hair below, so that 0.001 s given as 1 ms is 1 ms.
    const bool fits = length < known.below * (1 - 1e-12) || known.name == "h";
    if (!fits) continue;
    const double factor = known.name == unit ? 1 : *seconds / known.seconds;
    return {factor, std::string(known.name), longest * factor};
  }
  return {1, unit, longest};
}

std::string print_time(double time, const std::string& unit, int digits) {
  const TimeScale scale = time_scale(time, unit);
  return print_rounded(time * scale.factor, digits) + " " + scale.unit;
}

}  // namespace weft
