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

constexpr int kMaxColumns = 2000;

struct Box {
  int first = 0;  // column
  int last = 0;   // one past
  std::string label;
};

struct Row {
  std::string name;
  std::vector<Box> boxes;
};

template <class Visit>
void for_each_work(const Timeline& timeline, Visit visit) {
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (is_work(event) && event.end > event.start) visit(event);
    }
  }
}

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

double approximate_unit(const Timeline& timeline, double makespan) {
  double shortest = makespan;
  for_each_work(timeline, [&](const Event& event) {
    shortest = std::min(shortest, event.end - event.start);
  });
  return std::max(shortest, makespan / kMaxColumns);
}

std::vector<Row> rows_of(const Timeline& timeline, double unit) {
  const auto column = [unit](double time) { return static_cast<int>(std::lround(time / unit)); };
  std::vector<Row> rows;
  for (const RankTimeline& rank : timeline.ranks) {
    Row row{fmt::format("rank {}", rank.rank.value), {}};
    for (const Event& event : rank.events) {
      if (!is_work(event)) continue;
      const Box box{column(event.start), column(event.end), short_text(event)};
      if (box.last > box.first) row.boxes.push_back(box);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Wide enough for every label and a space after it.
int column_width(const std::vector<Row>& rows) {
  int width = 2;
  for (const Row& row : rows) {
    for (const Box& box : row.boxes) {
      const int columns = box.last - box.first;
      const int needed = static_cast<int>(box.label.size()) + 1;
      width = std::max(width, (needed + columns - 1) / columns);
    }
  }
  return width;
}

void put(std::string& line, std::size_t at, const std::string& text) {
  line.replace(at, text.size(), text);
}

std::string draw(const Row& row, int columns, int width) {
  std::string line(static_cast<std::size_t>(columns * width), ' ');
  for (int c = 0; c < columns; ++c) line[static_cast<std::size_t>(c * width)] = '.';
  for (const Box& box : row.boxes) {
    std::string text = box.label;
    text.resize(static_cast<std::size_t>((box.last - box.first) * width - 1), '-');
    put(line, static_cast<std::size_t>(box.first * width), text + " ");
  }
  return line;
}

// Times at as many columns as leave a space between them.
std::string draw_ruler(int columns, int width, double unit) {
  std::string line(static_cast<std::size_t>(columns * width), ' ');
  const auto text = [unit](int column) { return fmt::format("{:.4g}", column * unit); };
  std::size_t longest = 0;
  for (int c = 0; c < columns; ++c) longest = std::max(longest, text(c).size());
  const int every = (static_cast<int>(longest) + width) / width;
  for (int c = 0; c + every <= columns; c += every) {
    put(line, static_cast<std::size_t>(c * width), text(c));
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
  const auto exact = common_unit(timeline, makespan);
  const double unit = exact ? *exact : approximate_unit(timeline, makespan);
  std::vector<Row> rows = rows_of(timeline, unit);
  const int columns = static_cast<int>(std::lround(makespan / unit));
  const int of_column = exact ? column_width(rows) : std::min(column_width(rows), 8);

  std::size_t name_size = 4;
  for (const Row& row : rows) name_size = std::max(name_size, row.name.size());
  std::vector<std::pair<std::string, std::string>> lines = {
      {"time", draw_ruler(columns, of_column, unit)}};
  for (const Row& row : rows) lines.emplace_back(row.name, draw(row, columns, of_column));

  const int room = width - static_cast<int>(name_size) - 2 + 1;  // the last space is trimmed
  const int per_block = std::max(1, room / of_column);
  std::string out;
  for (int first = 0; first < columns; first += per_block) {
    if (first > 0) out += "\n";
    for (const auto& [name, line] : lines) {
      const std::string part = line.substr(static_cast<std::size_t>(first * of_column),
                                           static_cast<std::size_t>(per_block * of_column));
      out += trimmed(fmt::format("{:<{}}  {}", name, name_size, part)) + "\n";
    }
  }
  return out;
}

}  // namespace weft
