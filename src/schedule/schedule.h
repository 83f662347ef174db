// A schedule as a plain value: the ordered cells of every pipeline rank.
#pragma once

#include <utility>
#include <vector>

#include "layout/stage_map.h"
#include "schedule/action.h"

namespace weft {

// Levels of a schedule. Compute: F B I W and pairs only. Transfers: sends, receives and gradient
// reductions added. Steps: see schedule/step.h.
struct Schedule {
  StageMap map;
  int num_micro_batches = 0;
  std::vector<std::vector<Cell>> ranks;  // [P], cells in the order in which a rank runs them

  bool operator==(const Schedule&) const = default;
};

// True if every cell is F, B, I, W or a pair.
bool is_compute_level(const Schedule& schedule);
// The schedule without its transfers.
Schedule compute_level(const Schedule& schedule);

bool has_pairs(const Schedule& schedule);

// The first two of a stage's weight gradients (W, B) that do not rise in micro-batches, as they
// run, for each stage that has such. Gradients are summed in the order of the W's, so the last bits
// of a sum depend on it.
std::vector<std::pair<Action, Action>> falling_wgrads(const Schedule& schedule);

}  // namespace weft
