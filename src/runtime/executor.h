// Executes a rank's steps as they stand. Decides nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "comm/groups.h"
#include "overlap/stage_runner.h"
#include "schedule/step.h"
#include "timeline/timeline.h"

namespace weft {

// What one rank needs to run a plan.
struct RankContext {
  Groups* groups = nullptr;
  std::map<Stage, std::unique_ptr<StageRunner>>* stages = nullptr;
  HandOver* hand_over = nullptr;
  WgradStore* wgrads = nullptr;
  // Sums the gradients of one stage over data parallel replicas; started at StartWire{ReduceGrad}.
  std::function<WorkPtr(Stage)> reduce_gradients;
  at::Tensor hidden_like;  // an empty [T, H] whose options a received hand-over gets
};

// The step that a rank is in, for messages about a rank that died or stalled.
std::string describe(const Step& step);

}  // namespace weft
