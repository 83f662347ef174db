#include "estimate/units.h"

#include <fmt/format.h>

#include <cmath>

namespace weft {
namespace {

// Three digits and a unit: the value is divided by `base` until it is below it.
std::string scaled(double value, double base, const char* const* units, int num_units) {
  int unit = 0;
  while (std::abs(value) >= base && unit + 1 < num_units) {
    value /= base;
    ++unit;
  }
  const double size = std::abs(value);
  const int decimals = unit == 0 || size >= 100 ? 0 : (size >= 10 ? 1 : 2);
  const std::string number = fmt::format("{:.{}f}", value, decimals);
  return *units[unit] == '\0' ? number : number + " " + units[unit];
}

}  // namespace

std::string print_bytes(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(static_cast<double>(bytes), 1024, kUnits, 6);
}

std::string print_count(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  return scaled(count, 1000, kUnits, 7);
}

}  // namespace weft
