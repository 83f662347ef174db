#include "search/built_ins.h"

#include <algorithm>

#include "schedule/registry.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

// Stages of a V that make one of the map.
int stages_in_one(const StageMap& map) { return 2 / map.chunks_per_rank; }

bool can_build(const ScheduleEntry& entry, int num_ranks) {
  if (entry.build == nullptr) return false;
  if (entry.name == "no-pipeline") return num_ranks == 1;
  return entry.name != "interleaved" || num_ranks > 1;
}

int chunks_of(const ScheduleEntry& entry) {
  if (entry.chunks != 0) return entry.chunks;
  return entry.name == "interleaved" ? 2 : 1;
}

}  // namespace

int peak_live_chunks(const Schedule& schedule) {
  int peak = 0;
  for (const LiveCounts& live : count_live(schedule)) {
    peak = std::max(peak, live.peak_live_chunks);
  }
  return peak * stages_in_one(schedule.map);
}

std::vector<BuiltIn> built_ins_that_fit(int num_ranks, int num_micro_batches, int max_live_chunks,
                                        bool overlap) {
  std::vector<BuiltIn> fitting;
  for (const ScheduleEntry& entry : schedule_table()) {
    if (!can_build(entry, num_ranks)) continue;
    for (const bool detach : {false, true}) {
      if (detach && entry.name != "dualpipev") continue;
      BuildRequest request{.num_ranks = num_ranks,
                           .chunks_per_rank = chunks_of(entry),
                           .num_micro_batches = num_micro_batches,
                           .detach = detach};
      request.overlap = overlap && entry.has_pairs;
      BuiltIn built_in{std::string(entry.name) + (detach ? " --dualpipev-dw-detach" : ""),
                       build_schedule(std::string(entry.name), request), request.overlap};
      if (peak_live_chunks(built_in.schedule) <= max_live_chunks) {
        fitting.push_back(std::move(built_in));
      }
    }
  }
  return fitting;
}

Costs costs_on(const StageMap& map, const Costs& of_v) {
  const int parts = stages_in_one(map);
  if (parts == 1) return of_v;
  Costs costs = of_v;
  costs.stages.clear();
  for (int s = 0; s < map.num_stages(); ++s) {
    StageCost sum{0, 0, 0};
    for (int i = parts * s; i < parts * (s + 1); ++i) {
      const StageCost& part = of_v.of_stage(Stage(i));
      sum.forward += part.forward;
      sum.dgrad += part.dgrad;
      sum.wgrad += part.wgrad;
    }
    costs.stages[s] = sum;
  }
  if (costs.pair) *costs.pair *= parts;
  return costs;
}

Layout layout_on(const StageMap& map, const Layout& of_v) {
  Layout layout = of_v;
  layout.map = map;
  layout.stages.assign(map.num_stages(), {});
  for (std::size_t i = 0; i < of_v.stages.size(); ++i) {
    const StageLayers& part = of_v.stages[i];
    StageLayers& stage = layout.stages[i / stages_in_one(map)];
    const auto append = [](std::vector<int>& to, const std::vector<int>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    stage.embedding |= part.embedding;
    append(stage.decoder_layers, part.decoder_layers);
    append(stage.mtp_layers, part.mtp_layers);
    stage.loss |= part.loss;
  }
  return layout;
}

}  // namespace weft
