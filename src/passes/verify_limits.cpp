#include "passes/verify_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/plan_text.h"

namespace weft {
namespace {

// Reports the first cell of a rank with more than `limit` of what `value` reads.
template <class T>
void check(const std::vector<Held>& cells, int rank, const std::optional<T>& limit, T Held::* value,
           const char* what, const PlanText& text, FindingList& findings) {
  if (!limit) return;
  const auto over = std::find_if(cells.begin(), cells.end(),
                                 [&](const Held& held) { return held.*value > *limit; });
  if (over == cells.end()) return;
  T peak = 0;
  for (const Held& held : cells) peak = std::max(peak, held.*value);
  const Place place{rank, static_cast<int>(over - cells.begin())};
  findings.add(fmt::format("{}: {} {}, the limit is {}; the rank's peak is {}", text.name(place),
                           (*over).*value, what, *limit, peak),
               {place});
}

}  // namespace

std::vector<Finding> verify_limits(const Schedule& schedule, const PlanLimits& limits) {
  const PlanText text(schedule);
  FindingList findings("verify_limits", text);
  const auto held = held_by_cell(schedule, limits.stage_bytes);
  for (std::size_t r = 0; r < held.size(); ++r) {
    const int rank = static_cast<int>(r);
    check(held[r], rank, limits.live_chunks, &Held::live_chunks, "live chunks", text, findings);
    check(held[r], rank, limits.pending_wgrads, &Held::pending_wgrads, "pending W's", text,
          findings);
    check(held[r], rank, limits.bytes, &Held::bytes, "bytes", text, findings);
  }
  return findings.take();
}

}  // namespace weft
