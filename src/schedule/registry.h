// The schedules that can be asked for by name: one table, one builder each (builders/).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// What a builder is given. Every M >= 1 works with every schedule.
struct BuildRequest {
  int num_ranks = 1;          // P
  int chunks_per_rank = 1;    // where the schedule leaves it open (ScheduleEntry::chunks)
  int num_micro_batches = 1;  // M
  int group_size = 0;         // interleaved: consecutive micro-batches per chunk; 0: num_ranks
  bool overlap = false;       // --moe-fb-overlap: pairs where the schedule can have them
  bool detach = false;        // --dualpipev-dw-detach
};

struct ScheduleEntry {
  std::string_view name;  // as in --schedules-method
  std::string_view help;
  Placement placement = Placement::Looped;
  int chunks = 0;          // per rank; 0: as many as asked for
  bool has_pairs = false;  // can weave a forward with a backward, so --moe-fb-overlap is allowed
  Schedule (*build)(const BuildRequest&) = nullptr;  // null: searched for on costs (search/)
};

const std::vector<ScheduleEntry>& schedule_table();

// Null if no schedule has this name.
const ScheduleEntry* find_schedule(std::string_view name);

// The name meant by an empty --schedules-method: no-pipeline, interleaved or 1f1b.
std::string default_schedule_name(int num_ranks, int chunks_per_rank);

// The stage map that build_schedule would use. Throws as build_schedule.
StageMap stage_map_of(const std::string& name, const BuildRequest& request);

// Compute level. One rank and `overlap` have pairs under every schedule: one that has none of its
// own then runs like no-pipeline. Throws UserError for an unknown name (with the nearest one), a
// schedule that is not built yet, and a request that the schedule cannot serve (sizes, overlap,
// detach).
Schedule build_schedule(const std::string& name, const BuildRequest& request);

// Evaluation: the forwards of all chunks, ordered so that no rank waits in a circle.
Schedule build_forward_only(const StageMap& map, int num_micro_batches);

}  // namespace weft
