#include "timeline/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/columns.h"
#include "base/names.h"
#include "timeline/grid_scale.h"
#include "timeline/tracks.h"

namespace weft {
namespace {

constexpr int kLeastRoom = 8;
constexpr int kIdleRoom = 2;  // a dot and a blank
constexpr int kDotEvery = 4;  // characters, in a grid without columns

int text_size(const GridCell& cell) {
  return static_cast<int>(std::max({cell.text.size(), cell.above.size(), cell.below.size()}));
}

bool takes_time(const GridCell& cell) { return cell.end > cell.start; }

void put(std::string& line, int at, std::string_view text) {
  const auto place = static_cast<std::size_t>(at);
  line.replace(place, std::min(text.size(), line.size() - place),
               text.substr(0, line.size() - place));
}

std::string trimmed(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

// At most `digits` behind the point, none that say nothing.
std::string time_text(double time, int digits) {
  std::string text = fmt::format("{:.{}f}", time, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// A round time of at least that length.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Texts at places of a line, each with a space after it; those without room are left out.
class Ruler {
 public:
  explicit Ruler(int size) : line_(static_cast<std::size_t>(size), ' ') {}

  void mark(int at, const std::string& text) {
    const int end = at + static_cast<int>(text.size());
    if (at < free_ || end > static_cast<int>(line_.size())) return;
    put(line_, at, text);
    free_ = end + 1;
  }
  const std::string& line() const { return line_; }

 private:
  std::string line_;
  int free_ = 0;
};

// Times over the characters [first, first + size).
std::string draw_ruler(const GridScale& scale, int first, int size, double makespan) {
  Ruler ruler(size);
  if (scale.kind == GridScale::Kind::Ordered) {
    const auto from = std::ranges::lower_bound(scale.places, first) - scale.places.begin();
    for (auto i = static_cast<std::size_t>(from);
         i < scale.times.size() && scale.places[i] < first + size; ++i) {
      ruler.mark(scale.places[i] - first, time_text(scale.times[i], scale.digits));
    }
    return ruler.line();
  }
  const bool exact = scale.kind == GridScale::Kind::Exact;
  const double from = first / scale.column * scale.unit;
  double step = scale.unit;
  double mark = from;
  int digits = 4;
  if (!exact) {
    digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(scale.unit))), 0, 9);
    step = round_step(static_cast<double>(time_text(makespan, 0).size() + 3) * scale.unit);
    mark = std::max(0.0, std::ceil(from / step - 1e-9)) * step;
  }
  for (; scale.at(mark) - first < size; mark += step) {
    ruler.mark(scale.at(mark) - first, time_text(mark, digits));
  }
  return ruler.line();
}

// A row while its blocks are drawn, one behind the other.
struct RowPen {
  const GridRow& row;
  std::size_t next = 0;  // the first cell that is not finished
  int drawn = 0;         // characters that earlier blocks show
};

struct RowLines {
  std::string above, row, below;
};

// The text over `size` characters, drawn out with `fill`, the last one a space.
std::string box_text(const std::string& text, int size, char fill) {
  std::string box = text;
  box.resize(static_cast<std::size_t>(size - 1), fill);
  return box + " ";
}

// The row's characters [first, last). Lowers `next_first` to the start of a cell that is left to
// the next block.
RowLines draw(RowPen& pen, const GridScale& scale, int first, int last, int& next_first) {
  const std::string blank(static_cast<std::size_t>(last - first), ' ');
  RowLines lines{blank, blank, blank};
  const bool exact = scale.kind == GridScale::Kind::Exact;
  const int every = exact ? scale.column : kDotEvery;
  int idle_from = std::max(first, pen.drawn);
  const auto draw_idle = [&](int to) {
    for (int at = idle_from; at < to; at += every) {
      const bool touches = !exact && at == to - 1;
      if (!touches) put(lines.row, at - first, ".");
    }
    idle_from = to;
  };
  for (; pen.next < pen.row.cells.size(); ++pen.next) {
    const GridCell& cell = pen.row.cells[pen.next];
    if (!takes_time(cell)) continue;
    const int start = scale.at(cell.start), end = scale.at(cell.end);
    if (start >= last) break;
    const bool begins = start >= std::max(first, pen.drawn);
    if (begins) draw_idle(start);
    if (begins && end > last && last - start < text_size(cell) && start > first) {
      pen.drawn = start;
      next_first = std::min(next_first, start);
      return lines;
    }
    const int from = std::max({start, first, pen.drawn}), to = std::min(end, last);
    const bool one_column = exact && end - start == scale.column;
    const std::string box = box_text(cell.text, end - start, one_column ? ' ' : '-');
    put(lines.row, from - first,
        std::string_view(box).substr(static_cast<std::size_t>(from - start),
                                     static_cast<std::size_t>(to - from)));
    if (begins) {
      put(lines.above, start - first, cell.above);
      put(lines.below, start - first, cell.below);
    }
    idle_from = to;
    if (end > last) break;
  }
  draw_idle(last);
  pen.drawn = last;
  return lines;
}

std::string not_drawn_text(int not_drawn, bool any_drawn) {
  if (not_drawn == 0) return "";
  const std::string cells = counted(not_drawn, "cell");
  if (!any_drawn) return "nothing to draw: all costs are 0, of " + cells + " none takes any time";
  return cells +
         (not_drawn == 1 ? " takes no time and is not drawn" : " take no time and are not drawn");
}

}  // namespace

std::string print_grid(const std::vector<GridRow>& rows, int width) {
  std::vector<GridSpan> spans, gaps;
  std::vector<double> last_ends;
  std::vector<RowPen> pens;
  int not_drawn = 0;
  std::size_t name_size = 4;
  double makespan = 0;
  for (const GridRow& row : rows) {
    pens.push_back({row});
    name_size = std::max({name_size, row.name.size(), row.above.size(), row.below.size()});
    double idle_from = 0;
    for (const GridCell& cell : row.cells) {
      if (!takes_time(cell)) {
        ++not_drawn;
        continue;
      }
      spans.push_back({cell.start, cell.end, text_size(cell) + 1});
      if (cell.start > idle_from) gaps.push_back({idle_from, cell.start, kIdleRoom});
      idle_from = cell.end;
      makespan = std::max(makespan, cell.end);
    }
    last_ends.push_back(idle_from);
  }
  const auto room_of_notes = static_cast<std::size_t>(std::max(kLeastRoom, width));
  const std::string note =
      not_drawn == 0 ? "" : indented(not_drawn_text(not_drawn, !spans.empty()), 0, room_of_notes);
  if (spans.empty()) return note;
  for (const double end : last_ends) {
    if (end < makespan) gaps.push_back({end, makespan, kIdleRoom});
  }

  const int room = std::max(kLeastRoom, width - static_cast<int>(name_size) - 2);
  GridScale scale = choose_scale(spans, gaps);
  scale.column = std::min(scale.column, room);
  const int size = std::max(1, scale.at(makespan));
  const int per_block = room / scale.column * scale.column;

  std::string out;
  const auto add_line = [&](const std::string& name, const std::string& line) {
    out += trimmed(fmt::format("{:<{}}  {}", name, name_size, line)) + "\n";
  };
  for (int first = 0; first < size;) {
    const int last = std::min(size, first + per_block);
    int next_first = last;
    if (first > 0) out += "\n";
    add_line("time", draw_ruler(scale, first, last - first, makespan));
    for (RowPen& pen : pens) {
      const RowLines lines = draw(pen, scale, first, last, next_first);
      if (!trimmed(lines.above).empty()) add_line(pen.row.above, lines.above);
      add_line(pen.row.name, lines.row);
      if (!trimmed(lines.below).empty()) add_line(pen.row.below, lines.below);
    }
    first = next_first;
  }
  if (scale.kind == GridScale::Kind::Ordered) {
    out += indented("not to scale: columns follow the order of starts and ends", 0, room_of_notes);
  }
  return out + note;
}

std::string print_grid(const Timeline& timeline, int width) {
  std::vector<GridRow> rows;
  for (const RankTimeline& rank : timeline.ranks) {
    GridRow& row = rows.emplace_back(GridRow{fmt::format("rank {}", rank.rank.value), {}});
    for (const Event& event : rank.events) {
      if (is_work(event)) row.cells.push_back({event.start, event.end, short_text(event)});
    }
  }
  return print_grid(rows, width);
}

}  // namespace weft
