// The built-in schedules as something to measure a found one by.
#pragma once

#include <string>
#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/schedule.h"

namespace weft {

struct BuiltIn {
  std::string flags;  // `dualpipev --dualpipev-dw-detach`
  Schedule schedule;
  bool overlap = false;  // built with --moe-fb-overlap
};

// Those that run on as many ranks and whose memory fits: peak live chunks of a V chunk's size, a
// stage of a schedule with one chunk a rank counting as two. Interleaved has two chunks a rank,
// since what stages of another size cost does not follow from those of a V.
std::vector<BuiltIn> built_ins_that_fit(int num_ranks, int num_micro_batches, int max_live_chunks,
                                        bool overlap);

// The most live chunks of a rank, in chunks of a V.
int peak_live_chunks(const Schedule& schedule);

// The costs, and what they lie on, of the stages of a V, given those of another map: its stages are
// one of the V's or two neighbours.
Costs costs_on(const StageMap& map, const Costs& of_v);
Layout layout_on(const StageMap& map, const Layout& of_v);

}  // namespace weft
