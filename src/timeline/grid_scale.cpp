#include "timeline/grid_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

namespace weft {
namespace {

// Times closer than this share of the whole are one.
constexpr double kSame = 1e-9;
// A grid may be so many times as long as one that keeps the order alone.
constexpr double kMostTimes = 8;

double last_end(const std::vector<GridSpan>& spans) {
  double last = 0;
  for (const GridSpan& span : spans) last = std::max(last, span.end);
  return last;
}

// The largest unit of which all starts and ends are multiples.
std::optional<double> common_unit(const std::vector<GridSpan>& spans) {
  for (const double scale : {1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 100.0, 1000.0}) {
    std::int64_t divisor = 0;
    bool whole = true;
    for (const GridSpan& span : spans) {
      for (const double time : {span.start * scale, span.end * scale}) {
        whole = whole && std::abs(time - std::round(time)) < 1e-6 && time < 1e15;
        if (whole) divisor = std::gcd(divisor, static_cast<std::int64_t>(std::round(time)));
      }
    }
    if (whole && divisor > 0) return static_cast<double>(divisor) / scale;
  }
  return std::nullopt;
}

GridScale exact_scale(const std::vector<GridSpan>& spans, double unit) {
  GridScale scale{GridScale::Kind::Exact, unit, 2};
  for (const GridSpan& span : spans) {
    const double columns = std::max(1.0, std::round((span.end - span.start) / unit));
    scale.column = std::max(scale.column, static_cast<int>(std::ceil(span.room / columns)));
  }
  return scale;
}

GridScale true_scale(const std::vector<GridSpan>& spans) {
  GridScale scale{GridScale::Kind::ToScale, last_end(spans)};
  for (const GridSpan& span : spans) {
    scale.unit = std::min(scale.unit, (span.end - span.start) / span.room);
  }
  return scale;
}

// The fewest characters in which each span has its room and different times stand apart.
GridScale ordered_scale(std::vector<GridSpan> spans) {
  GridScale scale{GridScale::Kind::Ordered, last_end(spans)};
  std::vector<double> times = {0};
  for (const GridSpan& span : spans) times.insert(times.end(), {span.start, span.end});
  std::ranges::sort(times);
  for (const double time : times) {
    const bool is_new = scale.times.empty() || time - scale.times.back() > kSame * scale.unit;
    if (is_new) scale.times.push_back(time);
  }
  double closest = scale.unit;
  for (std::size_t i = 1; i < scale.times.size(); ++i) {
    closest = std::min(closest, scale.times[i] - scale.times[i - 1]);
  }
  scale.digits = std::clamp(static_cast<int>(std::ceil(1 - std::log10(closest))), 0, 9);
  // Places rise with times, so a span's start has its place before its end is looked at.
  std::ranges::sort(spans, {}, &GridSpan::end);
  auto span = spans.begin();
  for (const double time : scale.times) {
    scale.places.push_back(scale.places.empty() ? 0 : scale.places.back() + 1);
    for (; span != spans.end() && span->end <= time + kSame * scale.unit; ++span) {
      scale.places.back() = std::max(scale.places.back(), scale.at(span->start) + span->room);
    }
  }
  return scale;
}

// In characters; far more than an int holds for times that have nothing in common.
double size_of(const GridScale& scale, double end) {
  if (scale.kind == GridScale::Kind::Ordered) return scale.places.back();
  return end / scale.unit * scale.column;
}

}  // namespace

int GridScale::at(double time) const {
  if (kind != Kind::Ordered) {
    // A hair more than half: what differs by whole characters is rounded alike.
    return static_cast<int>(std::floor(time / unit + 0.5 + 1e-6)) * column;
  }
  const auto next = std::ranges::lower_bound(times, time - kSame * unit);
  return places[std::min(static_cast<std::size_t>(next - times.begin()), places.size() - 1)];
}

GridScale choose_scale(const std::vector<GridSpan>& spans, const std::vector<GridSpan>& gaps) {
  const double end = last_end(spans);
  GridScale scale = true_scale(spans);
  if (const std::optional<double> unit = common_unit(spans)) {
    GridScale exact = exact_scale(spans, *unit);
    if (size_of(exact, end) <= 2 * size_of(scale, end)) scale = std::move(exact);
  }
  std::vector<GridSpan> all = spans;
  all.insert(all.end(), gaps.begin(), gaps.end());
  GridScale ordered = ordered_scale(std::move(all));
  return size_of(scale, end) > kMostTimes * size_of(ordered, end) ? ordered : scale;
}

}  // namespace weft
