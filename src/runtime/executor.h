// Executes a rank's steps as they stand. Decides nothing: order, pairing and lanes were settled by
// the passes; each kind of step has one short handler.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "comm/groups.h"
#include "overlap/stage_runner.h"
#include "runtime/memory_counter.h"
#include "schedule/step.h"

namespace weft {

// What one rank needs to run a plan. Pointers outlive the executor.
struct RankContext {
  Coordinates coordinates;
  StageMap map;
  Groups* groups = nullptr;
  std::map<Stage, std::unique_ptr<StageRunner>>* stages = nullptr;
  HandOver* hand_over = nullptr;
  // Starts a gradient wire of one of this rank's buckets.
  std::function<WorkPtr(const Wire&)> sum_gradients;
  // Allocates a [T, H] buffer in the compute type for a hand-over to arrive in.
  std::function<at::Tensor()> new_hidden;
};

// What one step of a rank was doing. Plain, so that ranks can send it to each other as bytes.
struct RecordedEvent {
  enum class Kind : std::int32_t { Work, Wait, Wire };

  std::int32_t step = 0;  // index into the rank's steps; of a wire its WaitWire's
  Kind kind = Kind::Work;
  std::int64_t start_ns = 0;  // CLOCK_MONOTONIC; of a wire when this rank started it
  std::int64_t end_ns = 0;
};

struct RecordedMemory {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
};

struct Recording {
  std::vector<RecordedEvent> events;
  std::vector<RecordedMemory> memory;
};

// Runs `steps` to their end on the calling thread. Throws RuntimeFault naming the step, the group
// and the peers if a wire fails or the deadline passes.
Recording execute(const RankSteps& steps, const RankContext& context, MemoryCounter& memory);

}  // namespace weft
