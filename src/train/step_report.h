// What a step took, measured and predicted: the metrics line, and the table at the end of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "plan/run_plan.h"
#include "runtime/executor.h"
#include "timeline/metrics.h"
#include "timeline/timeline.h"

namespace weft {

// Times of one step in ms, the largest over ranks, as cli.md defines them.
struct StepTimes {
  double step_ms = 0;     // from reading the data to the end of the optimizer
  double compute_ms = 0;  // largest busy time
  double all_to_all_ms = 0;
  double all_to_all_exposed_ms = 0;
  std::optional<double> all_to_all_hidden_steady;
  std::optional<double> all_to_all_hidden_outside;
  double counts_exposed_ms = 0;
  double p2p_exposed_ms = 0;
  double bubble_ms = 0;
};

StepTimes step_times(const Timeline& timeline, double step_ms);

// The timeline of a step from what every rank of the world recorded; on rank 0, empty elsewhere.
Timeline gather_timeline(Group& world, const RunPlan& plan, const Recording& recording);

// The table that a run ends with: medians of the measured steps beside the prediction. `crowded`:
// more ranks than cores, so that a wait includes other ranks' compute.
std::string print_step_table(const std::vector<StepTimes>& measured, const StepTimes& predicted,
                             bool crowded);

}  // namespace weft
