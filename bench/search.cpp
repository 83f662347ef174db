// How long, in processor time on one core, does `auto` search, and how far from the bound and ahead
// of the built-ins does it get? And how long does `weft plan --search` take?
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "config/model_source.h"
#include "estimate/search.h"
#include "estimate/trials.h"
#include "passes/verify.h"
#include "search/bound.h"
#include "search/built_ins.h"
#include "search/search_schedule.h"

using namespace weft;

namespace {

struct Case {
  const char* name;
  int num_ranks, num_micro_batches, max_live_chunks;
  StageCost stage;
  double pair;  // 0: what its halves take
};

constexpr Case kCases[] = {
    {"uniform", 4, 10, 9, {1, 1, 1}, 0},
    {"uniform", 8, 32, 17, {1, 1, 1}, 0},
    {"uniform", 8, 32, 8, {1, 1, 1}, 0},
    {"long dgrad", 8, 32, 16, {1, 1.2, 0.8}, 0},
    {"little memory", 8, 32, 10, {1, 1.1, 0.9}, 0},
    {"woven", 8, 32, 17, {1, 1, 1}, 2.5},
    {"woven", 16, 64, 33, {1, 1.1, 0.9}, 2.6},
    {"many", 32, 512, 65, {1, 1.1, 0.9}, 0},
};

struct RunCase {
  const char* model;
  const char* layers;
  const char* ranks;
  const char* gib;
};

constexpr RunCase kRunCases[] = {
    {"mixtral-8x7b", "32", "64", "80"},
    {"qwen3-30b-a3b", "48", "64", "80"},
    {"deepseek-v3", "61", "256", "1000"},
};

double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

bool search_schedules() {
  fmt::print("{:>14} {:>4} {:>5} {:>6} {:>8} {:>10} {:>10} {:>10}  {}\n", "costs", "P", "M",
             "limit", "CPU s", "makespan", "bound", "built-in", "which");
  for (const Case& c : kCases) {
    AutoRequest request{.num_ranks = c.num_ranks, .num_micro_batches = c.num_micro_batches};
    request.max_live_chunks = c.max_live_chunks;
    request.costs.stage = c.stage;
    if (c.pair > 0) request.costs.pair = c.pair;
    const std::clock_t start = std::clock();
    const FoundSchedule found = search_schedule(request);
    const double seconds = seconds_since(start);
    if (!verify_order(found.schedule).empty() ||
        peak_live_chunks(found.schedule) > c.max_live_chunks) {
      fmt::print("{}: not a valid schedule\n", c.name);
      return false;
    }
    const double bound =
        lower_bound(make_problem(c.num_ranks, c.num_micro_batches, c.max_live_chunks, c.pair > 0,
                                 compute_costs(c.num_ranks, request.costs)));
    fmt::print("{:>14} {:>4} {:>5} {:>6} {:>8.2f} {:>10.6g} {:>10.6g} {:>10.6g}  {}\n", c.name,
               c.num_ranks, c.num_micro_batches, c.max_live_chunks, seconds, found.makespan, bound,
               found.built_in_makespan, found.best_built_in);
  }
  return true;
}

// The first fits, is ahead of the others, and takes as long as its plan alone is said to.
bool is_sound(const SearchReport& report, const Request& request) {
  if (report.best.empty()) return false;
  const Trial& first = report.best.front();
  const PlanEstimate alone = estimate_plan(config_of(first, request, {}));
  return first.makespan == alone.metrics.makespan && first.rate() >= report.best.back().rate() &&
         static_cast<double>(first.bytes) <= std::ldexp(*report.memory_gib, 30);
}

bool search_whole_runs() {
  fmt::print("\n{:>14} {:>6} {:>5} {:>5} {:>8} {:>6} {:>10}  {}\n", "model", "layers", "ranks",
             "GiB", "CPU s", "tried", "simulated", "first");
  for (const RunCase& c : kRunCases) {
    std::vector<Violation> violations;
    Request request =
        read_request(Verb::Plan,
                     {"--search", "--model", c.model, "--ranks", c.ranks, "--memory-gib", c.gib,
                      "--bf16"},
                     {}, violations);
    take_model(request, violations);
    const std::clock_t start = std::clock();
    const SearchReport report = search_runs(request, {});
    const double seconds = seconds_since(start);
    if (!violations.empty() || !is_sound(report, request)) {
      fmt::print("{}: not a sound search\n", c.model);
      return false;
    }
    fmt::print("{:>14} {:>6} {:>5} {:>5} {:>8.2f} {:>6} {:>10}  {}\n", c.model, c.layers, c.ranks,
               c.gib, seconds, report.tried, report.simulated, flags_of(report.best.front()));
  }
  return true;
}

}  // namespace

int main() {
  const bool sound = search_schedules() && search_whole_runs();
  return sound ? EXIT_SUCCESS : EXIT_FAILURE;
}
