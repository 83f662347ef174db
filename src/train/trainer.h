// The training loop of one rank.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "config/config.h"
#include "plan/run_plan.h"
#include "train/metrics_file.h"
#include "train/step_report.h"

namespace weft {

// What rank 0 measured; empty on the others.
struct TrainResult {
  std::vector<StepMetrics> steps;
  std::vector<StepTimes> times;        // as `steps`
  std::optional<StepTimes> predicted;  // of steps after the second, from the costs of the first two
};

// Trains as `config` says; every rank of the world calls it at once with the same arguments. Rank 0
// prints progress and the table of the step to standard error, and writes metrics, timelines and
// gradients. Throws UserError for data or a checkpoint that does not fit, RuntimeFault if a rank
// dies, stalls, or a file cannot be written.
TrainResult train(const Config& config, const RunPlan& plan, Communicator& communicator);

}  // namespace weft
