// A configuration's plan, lowered and simulated, and the bytes that it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimate/activation_bytes.h"
#include "estimate/parameter_count.h"
#include "passes/live.h"
#include "plan/run_plan.h"
#include "timeline/entry_times.h"
#include "timeline/metrics.h"

namespace weft {

struct MemoryReport {
  std::int64_t weights = 0;      // main weights and compute copies
  std::int64_t gradients = 0;    // main gradients
  std::int64_t optimizer = 0;    // two running means
  std::int64_t activations = 0;  // at their peak

  std::int64_t total() const { return weights + gradients + optimizer + activations; }
};

MemoryReport memory_of(const ParameterCount& count, const ElementBytes& element,
                       std::int64_t activations);

struct PlanEstimate {
  RunPlan plan;
  ModelSizes sizes;
  ElementBytes element;
  ActivationTable table;
  std::vector<RankActivations> activations;  // [P]
  Timeline timeline;                         // under the plan's costs
  TimelineMetrics metrics;
};

// Takes a config that has passed the rules and is resolved. Throws as make_step_plan.
// The limits of the flags are for limit_findings to hold it to.
PlanEstimate estimate_plan(const Config& config);

// What is held around each step, and when it runs.
PlanHeld held_of(const PlanEstimate& estimate);
PlanTimes times_of(const PlanEstimate& estimate);

// All that is above the limits of the flags.
std::vector<Finding> limit_findings(const Config& config, const PlanEstimate& estimate);

// Bytes of the model's segments, hand-overs and sums of gradients, of a resolved config that has
// the model's sizes.
ActivationTable model_table(const Config& config, const Layout& layout);

// `held` with the bytes of each step.
PlanHeld with_bytes(PlanHeld held, const std::vector<RankActivations>& activations);

// What a rank holds while the gradients of a bucket are summed: two copies, padded to whole shares.
std::map<Bucket, std::int64_t> reduction_buffers(const ModelSizes& sizes, const Layout& layout,
                                                 const Mesh& mesh, const ElementBytes& element);

}  // namespace weft
