// From flags to the plan of a whole run: sizes, mesh, layout, schedule, steps.
#pragma once

#include <string>

#include "config/config.h"
#include "costs/costs.h"
#include "layout/layout.h"
#include "layout/mesh.h"
#include "passes/pass_list.h"
#include "passes/verify_limits.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

struct BatchSizes {
  int micro_batch_size = 1;
  int num_micro_batches = 1;  // per data parallel rank
  int global_batch_size = 1;  // micro_batch_size * num_micro_batches * DP

  bool operator==(const BatchSizes&) const = default;
};

struct RunPlan {
  Mesh mesh;
  BatchSizes sizes;
  Layout layout;
  bool tied_embeddings = true;
  Costs costs;             // that weave used
  Schedule schedule;       // compute level, or transfers level if its file is
  StepPlan steps;          // one training step
  StepPlan forward_steps;  // one evaluation step, forwards only
};

// All take a config that has passed the rules and is resolved (config/derive.h).

// Costs as read from a file, for these sizes (with_sizes in costs/costs.h).
Costs sized_costs(const Config& config, const Costs& read);

// --costs, else --cost-forward and its kin.
Costs given_costs(const Config& config);

// What steps cost: --costs, else an estimate from the model's sizes.
Costs step_costs(const Config& config);

// What the flags allow a rank to hold.
PlanLimits limits_of(const Config& config);

// Ranks by their sizes.
Mesh make_mesh(const ParallelConfig& parallel);

// How the flags ask for a step's plan to be lowered.
LowerOptions lower_options(const Config& config);

// The schedule that the flags ask for, at the compute level unless a file has one of transfers.
// `auto` searches on the costs, of lowered plans if they name wires, and logs what it found and
// gained. Throws UserError.
Schedule make_schedule(const Config& config, const Costs& costs);

// The plan of one training step, `forward_steps` left empty. Throws PlanError with every finding if
// the plan does not pass the verifiers.
RunPlan make_step_plan(const Config& config);

// The same value on every rank. Throws as above, and PlanError for a plan that is above
// --max-live-chunks or --max-pending-wgrads.
RunPlan make_run_plan(const Config& config);

}  // namespace weft
