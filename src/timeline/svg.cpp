#include "timeline/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/times.h"
#include "timeline/metrics.h"
#include "timeline/palette.h"
#include "timeline/tracks.h"

namespace weft {
namespace {

constexpr double kMargin = 16;
constexpr double kHeading = 66;  // title, facts and legend
constexpr double kRuler = 20;
constexpr double kCompute = 26;
constexpr double kLane = 12;
constexpr double kBetweenRanks = 6;
constexpr double kBetweenBands = 18;
constexpr double kFont = 10;
constexpr double kDigit = 0.6;  // width of a letter, of the font's size
constexpr double kNarrow = 20;  // of the shortest cells, in pixels
constexpr int kMaxBands = 24;
constexpr double kTickEvery = 60;  // pixels, at least

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
      out += '?';  // a title may hold the name of a file, in any bytes
    } else {
      out += c;
    }
  }
  return out;
}

// Two decimals at most.
std::string pixels(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string text_at(double x, double y, const std::string& text, std::string_view more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", pixels(x), pixels(y), more,
                     escaped(text));
}

std::string box_at(double x, double y, double w, double h, std::string_view style) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"/>", pixels(x),
                     pixels(y), pixels(w), pixels(h), style);
}

// The duration that nine in ten compute events are not shorter than.
double short_duration(const Timeline& timeline) {
  std::vector<double> durations;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (is_work(event) && event.end > event.start) durations.push_back(event.end - event.start);
    }
  }
  if (durations.empty()) return 1;
  const auto at = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 10);
  std::nth_element(durations.begin(), at, durations.end());
  return *at;
}

std::string micro_batch_of(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) return name.substr(colon + 1);
  return name.substr(name.find_last_not_of("0123456789") + 1);
}

double text_width(const std::string& text) {
  return static_cast<double>(text.size()) * kFont * kDigit;
}

struct Row {
  const RankTimeline* rank = nullptr;
  Track track;
  double top = 0;  // below the band's
  double height = 0;
  bool first = false;  // of its rank
};

class Picture {
 public:
  Picture(const Timeline& timeline, const std::string& title, int width)
      : timeline_(timeline), title_(title), width_(width), metrics_(measure(timeline)) {
    build_rows();
    const double room = width_ - 2 * kMargin - names_;
    const double makespan = std::max(metrics_.makespan, 1e-12);
    scale_ = std::clamp(kNarrow / short_duration(timeline), room / makespan,
                        std::max(room / makespan, kMaxBands * room / makespan));
    bands_ = std::max(1, static_cast<int>(std::ceil(makespan * scale_ / room - 1e-9)));
    // Bands of equal length, so that the last one is no remnant.
    per_band_ = makespan / bands_;
    scale_ = room / per_band_;
    whole_names_ = most_names_fit();
  }

  std::string draw() {
    const double tall = kMargin + kHeading + bands_ * (band_height() + kBetweenBands) + kMargin;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', "
        "sans-serif\" font-size=\"{2}\" fill=\"{3}\">\n<title>{4}</title>\n",
        width_, pixels(tall), pixels(kFont), kInkColour, escaped(title_));
    out += styles() + heading() + legend();
    for (int band = 0; band < bands_; ++band) out += draw_band(band);
    return out + "</svg>\n";
  }

 private:
  double band_height() const { return kRuler + rows_height_; }
  double band_top(int band) const {
    return kMargin + kHeading + band * (band_height() + kBetweenBands);
  }

  void build_rows() {
    std::size_t longest = 6;
    for (const RankTimeline& rank : timeline_.ranks) {
      bool first = true;
      for (Track& track : tracks_of(rank)) {
        const bool compute = track.lane == Lane::Compute;
        const double height = compute ? kCompute : kLane;
        const std::string name = compute ? name_of(rank) : track.name;
        longest = std::max(longest, name.size());
        rows_.push_back({&rank, std::move(track), rows_height_, height, first});
        rows_height_ += height + 2;
        first = false;
      }
      rows_height_ += kBetweenRanks;
    }
    names_ = static_cast<double>(longest) * kFont * kDigit + 12;
  }

  std::string styles() const {
    std::string css = fmt::format(
        "text{{pointer-events:none}}.n{{text-anchor:middle}}.s{{fill:{}}}.b{{fill:url(#idle)}}"
        ".x{{fill:{}}}.l{{fill:#f4f5f8}}.k{{fill:{}}}",
        kSoftInkColour, kExposedColour, kInkColour);
    for (const PaletteRow& row : palette()) {
      css += fmt::format(".{0}0{{fill:{1}}}.{0}1{{fill:{2}}}", row.name, row.even, row.odd);
    }
    css += ".o{fill:none;stroke:#28324a;stroke-opacity:.5;stroke-width:.6}";
    return fmt::format(
        "<style>{}</style>\n<defs><pattern id=\"idle\" width=\"8\" height=\"8\" "
        "patternUnits=\"userSpaceOnUse\"><rect width=\"8\" height=\"8\" fill=\"{}\"/>"
        "<path d=\"M0 8L8 0M-2 2L2 -2M6 10L10 6\" stroke=\"{}\"/></pattern></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        css, kBubbleColour, kBubbleLine);
  }

  std::string heading() const {
    double bubble = 0, exposed = 0;
    for (const RankMetrics& rank : metrics_.ranks) {
      bubble += rank.bubble;
      exposed += rank.exposed_communication;
    }
    const double whole =
        std::max(1e-300, metrics_.makespan * static_cast<double>(timeline_.ranks.size()));
    std::string facts = fmt::format(
        "{}, bubble {:.1f} %", print_time(metrics_.makespan, timeline_.unit), 100 * bubble / whole);
    if (exposed > 0)
      facts += fmt::format(", exposed communication {:.1f} %", 100 * exposed / whole);
    return text_at(kMargin, kMargin + 14, title_, " font-size=\"15\" font-weight=\"bold\"") +
           text_at(kMargin, kMargin + 31, facts, " font-size=\"12\" class=\"s\"");
  }

  std::string legend() const {
    const std::vector<std::pair<char, const char*>> names = {
        {'F', "forward"},       {'I', "dgrad"},
        {'W', "wgrad"},         {'B', "full backward"},
        {'P', "woven pair"},    {'f', "forward wire"},
        {'r', "backward wire"}, {'c', "counts, gradients"}};
    std::string out;
    double x = kMargin;
    const double y = kMargin + 40;
    const auto put = [&](const std::string& boxes, const std::string& text) {
      out += boxes + text_at(x + 27, y + 10, text, " font-size=\"11\"");
      x += 27 + static_cast<double>(text.size()) * 11 * 0.55 + 16;
    };
    bool chunks = false, exposed = false, steady = false;
    std::string used;
    for (const RankTimeline& rank : timeline_.ranks) {
      chunks = chunks || stages_of(rank).size() > 1;
      steady = steady || (rank.steady_start && rank.steady_end);
      for (const Event& event : rank.events) {
        if (is_work(event) || event.lane != Lane::Compute) used += mark_of(event);
        exposed = exposed || (event.lane == Lane::Compute && !is_work(event));
      }
    }
    for (const auto& [mark, text] : names) {
      if (used.find(mark) == std::string::npos) continue;
      put(fill(mark, x, y, 22, 14, 0, 0) + box_at(x, y, 22, 14, "o"), text);
    }
    if (chunks) {
      put(box_at(x, y, 11, 14, "F0") + box_at(x + 11, y, 11, 14, "F1"),
          "even, odd chunk of a rank");
    }
    if (exposed) put(box_at(x, y, 22, 14, "x"), "exposed communication");
    put(box_at(x, y, 22, 14, "b"), "idle");
    if (steady) put(box_at(x, y + 6, 22, 2, "k"), "steady phase");
    return out;
  }

  // Boxes of what an event holds, without its outline. `even`, `odd`: shades of its actions.
  static std::string fill(char mark, double x, double y, double w, double h, int first,
                          int second) {
    const auto box = [&](double from, double to, std::string_view name, int shade) {
      return box_at(x, y + h * from, w, h * (to - from), fmt::format("{}{}", name, shade));
    };
    switch (mark) {
      case 'P':
        return box(0, .5, "F", first) + box(.5, .75, "I", second) + box(.75, 1, "W", second);
      case 'B':
        return box(0, .5, "I", first) + box(.5, 1, "W", first);
      default:
        return box(0, 1, std::string(1, mark), first);
    }
  }

  std::string draw_band(int band) {
    const double from = band * per_band_, to = from + per_band_, top = band_top(band);
    const double left = kMargin + names_;
    std::string out = draw_ruler(from, to, top);
    for (const Row& row : rows_) {
      const double y = top + kRuler + row.top;
      const bool compute = row.track.lane == Lane::Compute;
      if (compute) {
        out += text_at(kMargin, y + row.height / 2 + 4, name_of(*row.rank),
                       " font-size=\"11\" font-weight=\"bold\"");
      } else {
        out += text_at(left - 8, y + row.height / 2 + 3.5, row.track.name,
                       " text-anchor=\"end\" class=\"s\"");
      }
      const double end = std::clamp(row.rank->end, from, to);
      out += box_at(left, y, (compute ? end - from : to - from) * scale_, row.height,
                    compute ? "b" : "l") +
             "\n";
      if (compute) out += draw_steady(*row.rank, from, to, y);
      for (const Event* event : row.track.events) {
        if (event->end > from && event->start < to) out += draw_event(*event, row, from, to, y);
      }
    }
    return out;
  }

  std::string draw_steady(const RankTimeline& rank, double from, double to, double y) const {
    if (!rank.steady_start || !rank.steady_end) return "";
    const double start = std::clamp(*rank.steady_start, from, to);
    const double end = std::clamp(*rank.steady_end, from, to);
    if (end <= start) return "";
    return box_at(x_of(start, from), y - 3.5, (end - start) * scale_, 1.5, "k") + "\n";
  }

  double x_of(double time, double from) const { return kMargin + names_ + (time - from) * scale_; }

  std::string draw_ruler(double from, double to, double top) const {
    const double raw = kTickEvery / scale_;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      if (factor * power >= raw * (1 - 1e-9)) step = factor * power;
    }
    std::string out;
    for (double tick = std::max(0.0, std::ceil(from / step - 1e-9));
         tick * step <= to - step * 1e-9; ++tick) {
      const double x = x_of(tick * step, from);
      out += text_at(x + 2, top + 11, fmt::format("{:.10g}", tick * step), " class=\"s\"") +
             box_at(x, top + 3, 0.8, band_height() - 6, "l");
      out += box_at(x, top + 2, 0.8, 12, "s") + "\n";
    }
    return out;
  }

  // A wait is drawn where it is exposed; the rest of it is idle.
  std::string draw_event(const Event& event, const Row& row, double from, double to, double y) {
    double start = event.start, end = event.end;
    const bool waits = event.lane == Lane::Compute && !is_work(event);
    if (waits) std::tie(start, end) = exposed_part_of(event, *row.rank);
    const double x = x_of(std::max(start, from), from);
    const double w = (std::min(end, to) - std::max(start, from)) * scale_;
    if (w <= 0) return "";
    const std::string name = waits ? event_text(event) : short_text(event);
    const std::string boxes =
        waits ? box_at(x, y, w, row.height, "x") : draw_boxes(event, name, row, x, y, w);
    const std::string about =
        fmt::format("{}{}, {:.10g} to {:.10g}", waits ? "exposed: " : "", name, start, end);
    return fmt::format("<g><title>{}</title>{}", escaped(about), boxes) +
           (waits ? "" : draw_label(event, name, row, x, y, w)) + "</g>\n";
  }

  std::string draw_boxes(const Event& event, const std::string& name, const Row& row, double x,
                         double y, double w) {
    const std::vector<Stage>& stages = stages_of_rank(row);
    const auto shade = [&stages](const std::string& part) {
      const Stage stage(std::atoi(part.c_str()));
      return static_cast<int>(std::find(stages.begin(), stages.end(), stage) - stages.begin()) % 2;
    };
    const std::size_t second = name.find(';');
    const int first = shade(name);
    return fill(mark_of(event), x, y, w, row.height, first,
                second == std::string::npos ? first : shade(name.substr(second + 1))) +
           (w > 3 ? box_at(x, y, w, row.height, "o") : "");
  }

  std::string draw_label(const Event& event, const std::string& name, const Row& row, double x,
                         double y, double w) const {
    const std::size_t half = mark_of(event) == 'P' ? name.find(';') : std::string::npos;
    if (half == std::string::npos) return write(name, whole_names_, x, w, y + row.height / 2);
    return write(name.substr(0, half), true, x, w, y + row.height / 4) +
           write(name.substr(half + 1), true, x, w, y + row.height * 3 / 4);
  }

  // The action where it fits, else its micro-batch (of a step what stands behind the colon).
  static std::string write(const std::string& name, bool whole, double x, double w, double middle) {
    for (const std::string& text : {name, micro_batch_of(name)}) {
      if (text.empty() || text_width(text) > w - 1 || (!whole && text == name)) continue;
      return fmt::format("<text x=\"{}\" y=\"{}\" class=\"n\">{}</text>", pixels(x + w / 2),
                         pixels(middle + kFont * 0.36), escaped(text));
    }
    return "";
  }

  // Actions are written out only where nearly all of them fit, so that one picture has one style.
  bool most_names_fit() const {
    std::size_t cells = 0, fitting = 0;
    for (const RankTimeline& rank : timeline_.ranks) {
      for (const Event& event : rank.events) {
        if (!std::holds_alternative<Cell>(event.label) || mark_of(event) == 'P') continue;
        ++cells;
        if (text_width(short_text(event)) <= (event.end - event.start) * scale_ - 1) ++fitting;
      }
    }
    return 10 * fitting >= 9 * cells;
  }

  const std::vector<Stage>& stages_of_rank(const Row& row) {
    if (stages_rank_ != row.rank) {
      stages_rank_ = row.rank;
      stages_ = stages_of(*row.rank);
    }
    return stages_;
  }

  std::pair<double, double> exposed_part_of(const Event& wait, const RankTimeline& rank) {
    if (waited_rank_ != &rank) {
      waited_rank_ = &rank;
      waited_ = waited_wires(rank);
    }
    const Event* wire = waited_.at(static_cast<std::size_t>(&wait - rank.events.data()));
    return wire == nullptr ? std::pair(wait.end, wait.end) : exposed_part(wait, *wire);
  }

  const Timeline& timeline_;
  const std::string& title_;
  int width_;
  TimelineMetrics metrics_;
  std::vector<Row> rows_;
  double rows_height_ = 0;
  double names_ = 0;
  double scale_ = 1;     // pixels per unit of time
  double per_band_ = 1;  // time
  int bands_ = 1;
  bool whole_names_ = true;
  // Of the rank that is being drawn.
  const RankTimeline* stages_rank_ = nullptr;
  std::vector<Stage> stages_;
  const RankTimeline* waited_rank_ = nullptr;
  std::vector<const Event*> waited_;
};

}  // namespace

std::string print_svg(const Timeline& timeline, const std::string& title, int width) {
  return Picture(timeline, title, width).draw();
}

}  // namespace weft
