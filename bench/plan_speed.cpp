// How long, in processor time on one core, building, lowering, verifying and simulating a large
// plan takes, and how much memory.
// Every case is a process of its own, so that its peak is its own.
//
// usage: plan_speed [P M]...   without sizes: a series that grows, then the largest
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/verify.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

constexpr int kLayersPerStage = 4;

// MoE layers alone, alike on all stages.
Layout layout_of(const StageMap& map) {
  Layout layout;
  layout.map = map;
  layout.stages.resize(map.num_stages());
  for (StageLayers& stage : layout.stages) {
    for (int i = 0; i < kLayersPerStage; ++i) {
      stage.decoder_layers.push_back(static_cast<int>(layout.layer_kinds.size()));
      layout.layer_kinds.push_back(LayerKind::Moe);
    }
  }
  layout.stages.front().embedding = true;
  layout.stages.back().loss = true;
  return layout;
}

double mebibytes_at_peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Measures each part of the chain in turn; checks that nothing is found and that it adds up.
class Case {
 public:
  Case(int num_ranks, int num_micro_batches)
      : num_ranks_(num_ranks), num_micro_batches_(num_micro_batches) {}

  // Ahead of its uses: its type follows from its body.
  template <class Part>
  auto timed(const char* name, Part part) {
    const std::clock_t start = std::clock();
    auto result = part();
    parts_.emplace_back(name, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    return result;
  }

  bool run() {
    const Schedule schedule = timed("build", [&] {
      return build_schedule("dualpipev", {.num_ranks = num_ranks_,
                                          .chunks_per_rank = 2,
                                          .num_micro_batches = num_micro_batches_,
                                          .overlap = true,
                                          .detach = true});
    });
    const Layout layout = layout_of(schedule.map);
    const Costs& costs = default_costs();
    bool sound = true;
    sound &= timed("verify order", [&] { return verify_order(schedule).empty(); });
    Schedule transfers =
        timed("lower to transfers", [&] { return lower_transfers(schedule, true); });
    sound &= timed("verify transfers", [&] { return verify_transfers(transfers).empty(); });
    const StepPlan plan =
        timed("lower to steps", [&] { return lower_steps(transfers, layout, costs, {true}); });
    transfers = {};
    sound &= timed("verify steps", [&] { return verify_steps(plan).empty(); });
    Timeline timeline = timed("simulate", [&] { return simulate(plan, costs); });
    for (const RankSteps& rank : plan.ranks) num_steps_ += rank.steps.size();
    for (const RankTimeline& rank : timeline.ranks) num_events_ += rank.events.size();
    const TimelineMetrics metrics = measure(timeline);
    sound &= metrics.makespan > busy_at_least(schedule, costs);
    print();
    return sound;
  }

 private:
  // The compute of the middle layers of one rank, which the makespan cannot be below.
  double busy_at_least(const Schedule& schedule, const Costs& costs) const {
    double layer = 0;
    for (const SegmentKind kind :
         {SegmentKind::Attention, SegmentKind::Experts, SegmentKind::Merge}) {
      const SegmentCost& cost = costs.of_segment({kind, true});
      layer += cost.forward + cost.dgrad + cost.wgrad;
    }
    return layer * kLayersPerStage * schedule.map.chunks_per_rank * num_micro_batches_;
  }

  void print() const {
    double total = 0;
    for (const auto& [name, seconds] : parts_) total += seconds;
    fmt::print(
        "\nP = {}, M = {}: {:.2f} million steps, {:.2f} million events, {:.2f} s, {:.0f} "
        "MiB\n",
        num_ranks_, num_micro_batches_, 1e-6 * num_steps_, 1e-6 * num_events_, total,
        mebibytes_at_peak());
    for (const auto& [name, seconds] : parts_) {
      fmt::print("  {:<20} {:>8.3f} s {:>8.1f} ns a step\n", name, seconds,
                 1e9 * seconds / num_steps_);
    }
    std::fflush(stdout);
  }

  const int num_ranks_;
  const int num_micro_batches_;
  std::vector<std::pair<std::string, double>> parts_;
  double num_steps_ = 0;
  double num_events_ = 0;
};

// In a child process; true if it ended well.
bool run_apart(int num_ranks, int num_micro_batches) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) _exit(Case(num_ranks, num_micro_batches).run() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  const bool sound = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!sound) fmt::print("P = {}, M = {}: failed\n", num_ranks, num_micro_batches);
  return sound;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  std::vector<std::pair<int, int>> sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    sizes.emplace_back(std::atoi(argv[i]), std::atoi(argv[i + 1]));
  }
  if (sizes.empty()) sizes = {{16, 60}, {16, 120}, {16, 240}, {16, 480}, {64, 1024}};
  bool sound = true;
  for (const auto& [num_ranks, num_micro_batches] : sizes) {
    sound &= weft::run_apart(num_ranks, num_micro_batches);
  }
  return sound ? 0 : 1;
}
