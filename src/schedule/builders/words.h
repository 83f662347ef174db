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

// Drops the actions of micro-batches from `num_micro_batches` on; a pair that loses one half
// becomes a single action. Dependencies stay within a micro-batch, so what is left has no cycle if
// the whole had none.
Schedule keep_micro_batches(const Schedule& schedule, int num_micro_batches);

}  // namespace weft
