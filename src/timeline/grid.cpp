#include "timeline/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "timeline/tracks.h"

namespace weft {
namespace {

constexpr int kMaxColumns = 4000;
constexpr int kLeastRoom = 8;
constexpr int kDotEvery = 4;  // characters, in a grid that is to scale

template <class Visit>
void for_each_work(const Timeline& timeline, Visit visit) {
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (is_work(event) && event.end > event.start) visit(event);
    }
  }
}

// Times as characters of a line: a column is `unit` long and `width` wide.
struct Scale {
  double unit = 1;
  int width = 1;
  bool exact = false;  // a column per unit; else to scale

  int at(double time) const { return static_cast<int>(std::lround(time / unit)) * width; }
};

// The largest unit of which all starts and ends are multiples, if it gives few enough columns.
std::optional<double> common_unit(const Timeline& timeline, double makespan) {
  for (const double scale : {1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 100.0, 1000.0}) {
    std::int64_t divisor = 0;
    bool whole = true;
    for_each_work(timeline, [&](const Event& event) {
      for (const double time : {event.start * scale, event.end * scale}) {
        whole = whole && std::abs(time - std::round(time)) < 1e-6 && time < 1e15;
        if (whole) divisor = std::gcd(divisor, static_cast<std::int64_t>(std::round(time)));
      }
    });
    if (!whole || divisor == 0) continue;
    const double unit = static_cast<double>(divisor) / scale;
    if (makespan / unit > kMaxColumns) return std::nullopt;
    return unit;
  }
  return std::nullopt;
}

// A label and the space after it.
double room_of(const Event& event) { return static_cast<double>(short_text(event).size()) + 1; }

// A column per unit, wide enough for every label.
Scale exact_scale(const Timeline& timeline, double unit) {
  Scale scale{unit, 2, true};
  for_each_work(timeline, [&](const Event& event) {
    const double columns = std::round((event.end - event.start) / unit);
    const int needed = static_cast<int>(std::ceil(room_of(event) / std::max(columns, 1.0)));
    scale.width = std::max(scale.width, needed);
  });
  return scale;
}

// A column is a character; every label fits unless the grid would be too long.
Scale true_scale(const Timeline& timeline, double makespan) {
  double unit = makespan;
  for_each_work(timeline, [&](const Event& event) {
    unit = std::min(unit, (event.end - event.start) / room_of(event));
  });
  return {std::max(unit, makespan / kMaxColumns), 1, false};
}

Scale choose_scale(const Timeline& timeline, double makespan) {
  const Scale to_scale = true_scale(timeline, makespan);
  const std::optional<double> unit = common_unit(timeline, makespan);
  if (!unit) return to_scale;
  const Scale exact = exact_scale(timeline, *unit);
  return exact.at(makespan) > 2 * to_scale.at(makespan) ? to_scale : exact;
}

void put(std::string& line, int at, const std::string& text) {
  line.replace(static_cast<std::size_t>(at), text.size(), text);
}

// The label over `size` characters, drawn out with `fill`, the last one a space.
std::string box_text(const std::string& label, int size, char fill) {
  if (size == 1) return "|";
  std::string text = label;
  text.resize(static_cast<std::size_t>(size - 1), fill);
  return text + " ";
}

std::string draw(const RankTimeline& rank, const Scale& scale, int size) {
  std::string line(static_cast<std::size_t>(size), ' ');
  const int every = scale.exact ? scale.width : kDotEvery;
  int idle_from = 0;
  const auto draw_idle = [&](int to) {
    for (int at = idle_from; at < to; at += every) line[static_cast<std::size_t>(at)] = '.';
  };
  for (const Event& event : rank.events) {
    if (!is_work(event)) continue;
    const int first = scale.at(event.start), last = scale.at(event.end);
    if (last <= first || first < idle_from) continue;
    draw_idle(first);
    const bool one_column = scale.exact && last - first == scale.width;
    put(line, first, box_text(short_text(event), last - first, one_column ? ' ' : '-'));
    idle_from = last;
  }
  draw_idle(size);
  return line;
}

// At most `digits` behind the point, none that say nothing.
std::string time_text(double time, int digits) {
  std::string text = fmt::format("{:.{}f}", time, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// A round time that leaves room for `size` characters between marks.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Times over the characters [first, first + size), each with a space after it.
std::string draw_ruler(const Scale& scale, int first, int size, double makespan) {
  const int columns = scale.width;
  const double from = first / columns * scale.unit;
  const int digits =
      std::clamp(2 - static_cast<int>(std::floor(std::log10(scale.unit * columns))), 0, 9);
  const int longest = static_cast<int>(time_text(makespan, scale.exact ? 4 : 0).size()) + 3;
  double step = scale.unit;
  double mark = from;
  if (!scale.exact) {
    step = round_step(longest * scale.unit);
    mark = std::max(0.0, std::ceil(from / step - 1e-9)) * step;
  }
  std::string line(static_cast<std::size_t>(size), ' ');
  int free = 0;
  for (; scale.at(mark) - first < size; mark += step) {
    const std::string text = time_text(mark, scale.exact ? 4 : digits);
    const int at = scale.at(mark) - first, end = at + static_cast<int>(text.size());
    if (at < free || end > size) continue;
    put(line, at, text);
    free = end + 1;
  }
  return line;
}

std::string trimmed(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string print_grid(const Timeline& timeline, int width) {
  double makespan = 0;
  for_each_work(timeline, [&](const Event& event) { makespan = std::max(makespan, event.end); });
  if (makespan <= 0) return "";
  std::vector<std::string> names;
  std::size_t name_size = 4;
  for (const RankTimeline& rank : timeline.ranks) {
    names.push_back(fmt::format("rank {}", rank.rank.value));
    name_size = std::max(name_size, names.back().size());
  }
  const int room = std::max(kLeastRoom, width - static_cast<int>(name_size) - 2);
  Scale scale = choose_scale(timeline, makespan);
  scale.width = std::min(scale.width, room);
  const int size = std::max(1, scale.at(makespan));
  std::vector<std::string> lines;
  for (const RankTimeline& rank : timeline.ranks) lines.push_back(draw(rank, scale, size));

  const int per_block = room / scale.width * scale.width;
  std::string out;
  for (int first = 0; first < size; first += per_block) {
    const int count = std::min(per_block, size - first);
    if (first > 0) out += "\n";
    const std::string ruler = draw_ruler(scale, first, count, makespan);
    out += trimmed(fmt::format("{:<{}}  {}", "time", name_size, ruler)) + "\n";
    for (std::size_t r = 0; r < lines.size(); ++r) {
      const std::string part =
          lines[r].substr(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      out += trimmed(fmt::format("{:<{}}  {}", names[r], name_size, part)) + "\n";
    }
  }
  return out;
}

}  // namespace weft
