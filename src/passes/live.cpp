#include "passes/live.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "passes/cell_times.h"
#include "passes/chains.h"

namespace weft {
namespace {

class Holding {
 public:
  explicit Holding(const std::vector<KeptBytes>& bytes) : bytes_(bytes) {}

  // Ends count before starts: what a cell frees is gone when the next one takes.
  Held run(const Cell& cell) {
    const std::vector<Action> actions = compute_actions(cell);
    std::int64_t extra = 0;
    for (const Action& action : actions) {
      start(action);
      extra += extra_of(action);
    }
    Held held{now_.live_chunks, 0, now_.bytes + extra, 0};
    for (const Action& action : actions) end(action);
    held.pending_wgrads = now_.pending_wgrads;
    held.bytes_after = now_.bytes;
    return held;
  }

 private:
  void start(const Action& action) {
    if (action.kind != ActionKind::Forward) return;
    ++now_.live_chunks;
    now_.bytes += of(action).activation;
  }

  void end(const Action& action) {
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad) {
      --now_.live_chunks;
      now_.bytes -= of(action).activation;
    }
    if (action.kind == ActionKind::Dgrad) {
      ++now_.pending_wgrads;
      now_.bytes += of(action).wgrad;
    }
    if (action.kind == ActionKind::Wgrad) {
      --now_.pending_wgrads;
      now_.bytes -= of(action).wgrad;
    }
  }

  std::int64_t extra_of(const Action& action) const {
    switch (action.kind) {
      case ActionKind::Forward:
        return of(action).forward;
      case ActionKind::Backward:
        return of(action).backward;
      case ActionKind::Dgrad:
        return of(action).dgrad;
      default:
        return 0;
    }
  }

  KeptBytes of(const Action& action) const {
    return bytes_.empty() ? KeptBytes{} : bytes_.at(action.stage.value);
  }

  const std::vector<KeptBytes>& bytes_;
  Held now_;
};

KeptBytes sum_of_segments(const CostBytes& bytes, const Layout& layout, Stage stage) {
  KeptBytes sum;
  for (const Segment& segment : stage_segments(layout, stage)) {
    const auto found = bytes.segments.find(key_of(layout, segment));
    if (found == bytes.segments.end()) continue;
    const KeptBytes& kept = found->second;
    sum.activation += kept.activation;
    if (has_wgrad(segment.kind)) sum.wgrad += kept.wgrad;
    sum.forward = std::max(sum.forward, kept.forward);
    sum.dgrad = std::max(sum.dgrad, kept.dgrad);
    if (std::max(sum.activation, sum.wgrad) > kMaxKeptBytes) {
      throw UserError({"costs-file", "[bytes.segments]",
                       "the segments of stage " + std::to_string(stage.value) +
                           " hold more than 5e11 bytes together"});
    }
  }
  sum.backward = sum.dgrad;
  return sum;
}

}  // namespace

std::vector<KeptBytes> stage_bytes(const CostBytes& bytes, const Layout& layout) {
  if (bytes.empty()) return {};
  std::vector<KeptBytes> stages;
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    const auto own = bytes.stages.find(s);
    if (own != bytes.stages.end()) {
      stages.push_back(own->second);
    } else {
      stages.push_back(bytes.stage ? *bytes.stage : sum_of_segments(bytes, layout, Stage(s)));
    }
  }
  return stages;
}

PlanHeld held_by_cell(const Schedule& schedule, const std::vector<KeptBytes>& bytes) {
  PlanHeld held;
  for (const auto& cells : schedule.ranks) {
    auto& row = held.emplace_back();
    row.reserve(cells.size());
    Holding holding(bytes);
    for (const Cell& cell : cells) row.push_back(holding.run(cell));
  }
  return held;
}

std::vector<LiveCounts> count_live(const Schedule& schedule) {
  std::vector<LiveCounts> counts;
  for (const auto& cells : held_by_cell(schedule, {})) {
    LiveCounts& peak = counts.emplace_back();
    for (const Held& held : cells) {
      peak.peak_live_chunks = std::max(peak.peak_live_chunks, held.live_chunks);
      peak.max_pending_wgrads = std::max(peak.max_pending_wgrads, held.pending_wgrads);
    }
  }
  return counts;
}

}  // namespace weft
