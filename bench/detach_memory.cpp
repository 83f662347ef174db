// What dW detach saves in bubble and costs in bytes, by the simulator: DualPipeV, F = I = W = 1, a
// pair 3, M = 4P. Prints a table; bytes are in activations of one chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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

struct Found {
  double makespan = 0;
  double idle = 0;
  int pending_wgrads = 0;
  // Peak of the worst rank, if a pending W keeps half as much as the chunk's activations did, as
  // much, and twice as much.
  std::vector<double> bytes;
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
  for (const std::int64_t wgrad : {kActivation / 2, kActivation, 2 * kActivation}) {
    const std::vector<StageBytes> bytes(schedule.map.num_stages(), {kActivation, wgrad});
    std::int64_t peak = 0;
    for (const auto& cells : held_by_cell(schedule, bytes)) {
      for (const Held& held : cells) {
        peak = std::max(peak, held.bytes);
        found.pending_wgrads = std::max(found.pending_wgrads, held.pending_wgrads);
      }
    }
    found.bytes.push_back(static_cast<double>(peak) / kActivation);
  }
  return found;
}

}  // namespace
}  // namespace weft

int main() {
  using namespace weft;
  fmt::print("| P | M | detach | step | bubble | pending W's | bytes, W keeps 0.5 | 1 | 2 |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|\n");
  bool saves = true;
  for (const int num_ranks : {4, 8, 16}) {
    const Found off = run(num_ranks, false);
    const Found on = run(num_ranks, true);
    // From M = 2P on the two are 2(P-1)W apart (docs/dualpipev.md).
    saves &= off.makespan - on.makespan == 2 * (num_ranks - 1);
    for (const auto& [name, found] : {std::pair("off", off), std::pair("on", on)}) {
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", num_ranks, 4 * num_ranks, name,
                 found.makespan, found.idle, found.pending_wgrads, found.bytes[0], found.bytes[1],
                 found.bytes[2]);
    }
  }
  return saves ? 0 : 1;
}
