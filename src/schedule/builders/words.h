// Small words to write schedules with.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace weft {

inline Action forward(Stage stage, int micro_batch) {
  return {ActionKind::Forward, stage, MicroBatch(micro_batch)};
}
inline Action backward(Stage stage, int micro_batch) {
  return {ActionKind::Backward, stage, MicroBatch(micro_batch)};
}
inline Action dgrad(Stage stage, int micro_batch) {
  return {ActionKind::Dgrad, stage, MicroBatch(micro_batch)};
}
inline Action wgrad(Stage stage, int micro_batch) {
  return {ActionKind::Wgrad, stage, MicroBatch(micro_batch)};
}

// `warm_up` forwards, then one forward and one backward in turn, then the backwards that are left:
// a rank of 1F1B.
std::vector<Cell> forward_backward_in_turn(Stage stage, int warm_up, int num_micro_batches);

// Puts an I in place of every B; the oldest W runs behind it if more than `most_pending` are
// pending then, those that are left at the end.
std::vector<Cell> split_backwards(const std::vector<Cell>& cells, int most_pending);

// Drops the actions of micro-batches from `num_micro_batches` on; a pair that loses one half
// becomes a single action. Dependencies stay within a micro-batch, so what is left has no cycle if
// the whole had none.
Schedule keep_micro_batches(const Schedule& schedule, int num_micro_batches);

}  // namespace weft
