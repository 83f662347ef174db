// How long, in processor time on one core, does `auto` search, and how far from the bound and ahead
// of the built-ins does it get?
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

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

}  // namespace

int main() {
  fmt::print("{:>14} {:>4} {:>5} {:>6} {:>8} {:>10} {:>10} {:>10}  {}\n", "costs", "P", "M",
             "limit", "CPU s", "makespan", "bound", "built-in", "which");
  for (const Case& c : kCases) {
    AutoRequest request{.num_ranks = c.num_ranks, .num_micro_batches = c.num_micro_batches};
    request.max_live_chunks = c.max_live_chunks;
    request.costs.stage = c.stage;
    if (c.pair > 0) request.costs.pair = c.pair;
    const std::clock_t start = std::clock();
    const FoundSchedule found = search_schedule(request);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!verify_order(found.schedule).empty() ||
        peak_live_chunks(found.schedule) > c.max_live_chunks) {
      fmt::print("{}: not a valid schedule\n", c.name);
      return EXIT_FAILURE;
    }
    const double bound =
        lower_bound(make_problem(c.num_ranks, c.num_micro_batches, c.max_live_chunks, c.pair > 0,
                                 compute_costs(c.num_ranks, request.costs)));
    fmt::print("{:>14} {:>4} {:>5} {:>6} {:>8.2f} {:>10.6g} {:>10.6g} {:>10.6g}  {}\n", c.name,
               c.num_ranks, c.num_micro_batches, c.max_live_chunks, seconds, found.makespan, bound,
               found.built_in_makespan, found.best_built_in);
  }
  return EXIT_SUCCESS;
}
