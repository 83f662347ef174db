// --schedules-method auto: an order over a V found by search on given costs.
#pragma once

#include <optional>
#include <string>

#include "costs/costs.h"
#include "layout/layout.h"
#include "passes/pass_list.h"
#include "schedule/schedule.h"

namespace weft {

struct AutoRequest {
  int num_ranks = 1;
  int num_micro_batches = 1;
  std::optional<int> max_live_chunks = {};  // empty: default_live_chunks
  bool overlap = false;                     // --moe-fb-overlap: pairs even where they do not pay
  Costs costs = {};
  // Of the V. With it orders are judged as lowered plans, wires included; without, by the costs of
  // their chunks.
  std::optional<Layout> layout = {};
  LowerOptions lowering = {};
};

// What DualPipeV keeps alive: 2P + 1.
int default_live_chunks(int num_ranks);

struct FoundSchedule {
  Schedule schedule;
  double makespan = 0;
  double bubble = 0;          // the largest of a rank
  std::string best_built_in;  // flags; empty: none fits
  double built_in_makespan = 0;
  double built_in_bubble = 0;
  std::string summary;  // for a person, one line: both, and what was gained
};

// F, I, W, B and, with `overlap` or where one costs less than its halves, pairs; each stage takes
// its micro-batches in rising order. In simulation never slower than a built-in schedule over a V
// that keeps no more chunks alive; where one over a loop is faster the summary says so. The same on
// every machine. Throws UserError, rule "max-live-chunks", for a limit that no order can meet: a
// rank holds both chunks of a micro-batch at once, so 2 is the least.
FoundSchedule search_schedule(const AutoRequest& request);

}  // namespace weft
