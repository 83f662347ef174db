#include <algorithm>

#include "base/error.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

struct Counter {
  int live = 0;
  int pending = 0;
  LiveCounts peak;

  void start(const Action& action) {
    if (action.kind == ActionKind::Forward) ++live;
    peak.peak_live_chunks = std::max(peak.peak_live_chunks, live);
  }

  void end(const Action& action) {
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad) --live;
    if (action.kind == ActionKind::Dgrad) ++pending;
    if (action.kind == ActionKind::Wgrad) --pending;
    peak.max_pending_wgrads = std::max(peak.max_pending_wgrads, pending);
  }
};

}  // namespace

std::vector<LiveCounts> count_live(const Schedule& schedule) {
  weft_assert(is_compute_level(schedule), "count_live: a schedule at the compute level");
  std::vector<LiveCounts> counts;
  for (const auto& cells : schedule.ranks) {
    Counter counter;
    for (const Cell& cell : cells) {
      if (const auto* pair = std::get_if<ActionPair>(&cell)) {
        counter.start(pair->forward);
        counter.start(pair->backward);
        counter.end(pair->forward);
        counter.end(pair->backward);
      } else {
        counter.start(std::get<Action>(cell));
        counter.end(std::get<Action>(cell));
      }
    }
    counts.push_back(counter.peak);
  }
  return counts;
}

}  // namespace weft
