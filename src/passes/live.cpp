#include "passes/live.h"

#include <algorithm>

#include "base/error.h"

namespace weft {
namespace {

class Holding {
 public:
  explicit Holding(const std::vector<StageBytes>& bytes) : bytes_(bytes) {}

  // Ends count before starts: what a cell frees is gone when the next one takes.
  Held run(const Cell& cell) {
    const auto* pair = std::get_if<ActionPair>(&cell);
    if (pair == nullptr) {
      const Action& action = std::get<Action>(cell);
      start(action);
      const Held running = now_;
      end(action);
      return around(running);
    }
    start(pair->forward);
    start(pair->backward);
    const Held running = now_;
    end(pair->forward);
    end(pair->backward);
    return around(running);
  }

 private:
  Held around(const Held& running) const {
    return {running.live_chunks, now_.pending_wgrads, std::max(running.bytes, now_.bytes)};
  }

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

  StageBytes of(const Action& action) const {
    return bytes_.empty() ? StageBytes{} : bytes_.at(action.stage.value);
  }

  const std::vector<StageBytes>& bytes_;
  Held now_;
};

}  // namespace

std::vector<std::vector<Held>> held_by_cell(const Schedule& schedule,
                                            const std::vector<StageBytes>& bytes) {
  weft_assert(is_compute_level(schedule), "held_by_cell: a schedule at the compute level");
  std::vector<std::vector<Held>> held;
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
