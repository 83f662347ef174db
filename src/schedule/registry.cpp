#include "schedule/registry.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "schedule/builders/builders.h"

namespace weft {
namespace {

constexpr bool kPairs = true;
constexpr bool kNoPairs = false;
constexpr std::string_view kMethodFlag = "--schedules-method ";

const ScheduleEntry& require_entry(const std::string& name) {
  std::vector<std::string> built;
  std::vector<std::string> known;
  for (const ScheduleEntry& entry : schedule_table()) {
    known.emplace_back(entry.name);
    if (entry.build != nullptr) built.emplace_back(entry.name);
  }
  const ScheduleEntry* entry = find_schedule(name);
  if (entry == nullptr) {
    throw UserError({"schedule-unknown", std::string(kMethodFlag) + name,
                     "no such schedule" + did_you_mean(name, known) + "; there are " + join(known) +
                         " and files that end in .csv"});
  }
  if (entry->build == nullptr) {
    throw UserError({"schedule-searched", std::string(kMethodFlag) + name,
                     "this schedule is searched for on costs, not built from sizes alone; built "
                     "are " +
                         join(built)});
  }
  return *entry;
}

// What is wrong with a request, whichever schedule it is for.
void check_sizes(const BuildRequest& request, std::vector<Violation>& violations) {
  const auto at_least_one = [&](const char* flag, int value) {
    if (value >= 1) return;
    violations.push_back(
        {"at-least-one", std::string(flag) + " " + std::to_string(value), "has to be 1 or more"});
  };
  at_least_one("--pipeline-model-parallel-size", request.num_ranks);
  at_least_one("--num-microbatches", request.num_micro_batches);
  at_least_one("--num-virtual-stages-per-pipeline-rank", request.chunks_per_rank);
  if (request.group_size < 0) {
    at_least_one("--microbatch-group-size-per-virtual-pipeline-stage", request.group_size);
  }
}

// What a schedule cannot serve. The V fixes its two chunks itself, whatever the request says.
void check_fit(const ScheduleEntry& entry, const BuildRequest& request,
               std::vector<Violation>& violations) {
  const std::string name(entry.name);
  const std::string method = std::string(kMethodFlag) + name;
  if (name == "no-pipeline" && request.num_ranks != 1) {
    violations.push_back({"no-pipeline-one-rank",
                          "--pipeline-model-parallel-size " + std::to_string(request.num_ranks),
                          method + " runs on one pipeline rank; 1f1b is the nearest for more"});
  }
  if (entry.chunks == 1 && request.chunks_per_rank > 1) {
    violations.push_back({"one-chunk",
                          std::to_string(request.chunks_per_rank) + " chunks per pipeline rank",
                          method + " has one; interleaved takes any number"});
  }
  if (request.overlap && !entry.has_pairs && request.num_ranks > 1) {
    violations.push_back({"overlap-needs-pairs", "--moe-fb-overlap with " + method,
                          "it weaves a forward with a backward and this schedule has no such pairs "
                          "on more than one rank; use dualpipev or interleaved"});
  }
  if (request.detach && name != "dualpipev") {
    violations.push_back({"detach-needs-dualpipev", "--dualpipev-dw-detach with " + method,
                          "only dualpipev detaches weight gradients"});
  }
}

BuildRequest completed(const ScheduleEntry& entry, BuildRequest request) {
  if (entry.chunks != 0) request.chunks_per_rank = entry.chunks;
  if (request.group_size == 0) request.group_size = request.num_ranks;
  return request;
}

// The entry and the request with its defaults filled in, checked.
std::pair<const ScheduleEntry&, BuildRequest> resolve(const std::string& name,
                                                      const BuildRequest& request) {
  const ScheduleEntry& entry = require_entry(name);
  std::vector<Violation> violations;
  check_sizes(request, violations);
  check_fit(entry, request, violations);
  if (!violations.empty()) throw UserError(std::move(violations));
  return {entry, completed(entry, request)};
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_table() {
  constexpr auto kLooped = Placement::Looped;
  constexpr auto kV = Placement::V;
  static const std::vector<ScheduleEntry> table = {
      {"gpipe", "all forwards, then all backwards", kLooped, 1, kNoPairs, build_gpipe},
      {"1f1b", "one forward, one backward in turn", kLooped, 1, kNoPairs, build_one_f_one_b},
      {"interleaved", "1f1b over several chunks per rank", kLooped, 0, kPairs, build_interleaved},
      {"zb-h1", "zero bubble, the memory of 1f1b", kLooped, 1, kNoPairs, build_zb_h1},
      {"zb-h2", "zero bubble, more memory", kLooped, 1, kNoPairs, build_zb_h2},
      {"zb-v", "zero bubble over a V, the memory of 1f1b", kV, 2, kNoPairs, build_zb_v},
      {"dualpipev", "forward and backward in pairs over a V", kV, 2, kPairs, build_dualpipev},
      {"no-pipeline", "one rank, micro-batch by micro-batch", kLooped, 0, kPairs,
       build_no_pipeline},
      {"auto", "searched for under a memory limit", kV, 2, kPairs, nullptr},
  };
  return table;
}

const ScheduleEntry* find_schedule(std::string_view name) {
  const auto& table = schedule_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const ScheduleEntry& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string default_schedule_name(int num_ranks, int chunks_per_rank) {
  if (num_ranks == 1) return "no-pipeline";
  return chunks_per_rank > 1 ? "interleaved" : "1f1b";
}

StageMap stage_map_of(const std::string& name, const BuildRequest& request) {
  const auto [entry, full] = resolve(name, request);
  return {full.num_ranks, full.chunks_per_rank, entry.placement};
}

Schedule build_schedule(const std::string& name, const BuildRequest& request) {
  const auto [entry, full] = resolve(name, request);
  if (entry.has_pairs || !full.overlap) return entry.build(full);
  Schedule schedule = build_no_pipeline(full);
  schedule.map.placement = entry.placement;
  return schedule;
}

Schedule build_forward_only(const StageMap& map, int num_micro_batches) {
  Schedule schedule{map, num_micro_batches, {}};
  for (int r = 0; r < map.num_ranks; ++r) {
    std::vector<Action> forwards;
    for (int c = 0; c < map.chunks_per_rank; ++c) {
      for (int m = 0; m < num_micro_batches; ++m) {
        forwards.push_back({ActionKind::Forward, map.stage_of(Rank(r), Chunk(c)), MicroBatch(m)});
      }
    }
    // Stage plus micro-batch grows along every dependency, so no circle of ranks can form.
    std::stable_sort(forwards.begin(), forwards.end(), [](const Action& a, const Action& b) {
      return a.stage.value + a.micro_batch.value < b.stage.value + b.micro_batch.value;
    });
    schedule.ranks.emplace_back(forwards.begin(), forwards.end());
  }
  return schedule;
}

}  // namespace weft
