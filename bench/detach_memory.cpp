// What dW detach saves in bubble and costs in bytes, by the simulator: DualPipeV, F = I = W = 1, a
// pair 3, M = 4P. Prints a table; bytes are in activations of one chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "passes/live.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

constexpr std::int64_t kActivation = 100;

// What a pending W keeps, in activations of one chunk.
constexpr double kKept[] = {0.5, 1, 2};

struct Found {
  double makespan = 0;
  double idle = 0;  // of the worst rank
  int pending_wgrads = 0;
  std::vector<std::vector<double>> peaks;  // [kKept][rank]
};

Found run(int num_ranks, bool detach) {
  const Schedule schedule = build_schedule("dualpipev", {.num_ranks = num_ranks,
                                                         .chunks_per_rank = 2,
                                                         .num_micro_batches = 4 * num_ranks,
                                                         .detach = detach});
  const TimelineMetrics metrics = measure(simulate(schedule, Costs{}));
  Found found;
  found.makespan = metrics.makespan;
  for (const RankMetrics& rank : metrics.ranks) found.idle = std::max(found.idle, rank.idle);
  for (const double kept : kKept) {
    const auto wgrad = static_cast<std::int64_t>(kept * kActivation);
    const std::vector<StageBytes> bytes(schedule.map.num_stages(), {kActivation, wgrad});
    std::vector<double>& peaks = found.peaks.emplace_back();
    for (const auto& cells : held_by_cell(schedule, bytes)) {
      std::int64_t peak = 0;
      for (const Held& held : cells) {
        peak = std::max(peak, held.bytes);
        found.pending_wgrads = std::max(found.pending_wgrads, held.pending_wgrads);
      }
      peaks.push_back(static_cast<double>(peak) / kActivation);
    }
  }
  return found;
}

// The most that detaching adds to any rank's peak.
double added(const std::vector<double>& off, const std::vector<double>& on) {
  double most = 0;
  for (std::size_t rank = 0; rank < off.size(); ++rank) most = std::max(most, on[rank] - off[rank]);
  return most;
}

}  // namespace
}  // namespace weft

int main() {
  using namespace weft;
  fmt::print(
      "| P | M | step off | on | bubble off | on | pending W's off | on | peak | added, W keeps "
      "0.5 "
      "| 1 | 2 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bool saves = true;
  for (const int num_ranks : {4, 8, 16}) {
    const Found off = run(num_ranks, false);
    const Found on = run(num_ranks, true);
    // From M = 2P on the two are 2(P-1)W apart (docs/dualpipev.md).
    saves &= off.makespan - on.makespan == 2 * (num_ranks - 1);
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {}", num_ranks, 4 * num_ranks,
               off.makespan, on.makespan, off.idle, on.idle, off.pending_wgrads, on.pending_wgrads,
               *std::max_element(off.peaks[1].begin(), off.peaks[1].end()));
    for (std::size_t i = 0; i < std::size(kKept); ++i) {
      fmt::print(" | {}", added(off.peaks[i], on.peaks[i]));
    }
    fmt::print(" |\n");
  }
  return saves ? 0 : 1;
}
