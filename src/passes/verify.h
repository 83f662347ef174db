// Verifiers: each reads a plan and returns all its findings; an empty list is a proof.
#pragma once

#include <vector>

#include "base/error.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

// Compute level: every (stage, micro-batch) has exactly one F and one B or one I and one W; on the
// right rank; I before W; the data flow over all ranks has no cycle (shown minimal if it has).
// `forward_only` plans have F's only.
std::vector<Finding> verify_order(const Schedule& schedule, bool forward_only = false);

// Transfers level: every message sent once and received once, receive before use, send after
// production; under zero buffering, each (edge, direction) one queue, nothing waits for itself.
std::vector<Finding> verify_transfers(const Schedule& schedule);

// Steps level: wires started once, waited for after their start, sources released after their last
// use and once; W after its I; all W's run; data flow within and across stages; the same
// collectives in the same order on every rank of a stage's group; no cycle under zero buffering.
std::vector<Finding> verify_steps(const StepPlan& plan, bool forward_only = false);

// Two ranks of one expert parallel group run plans of equal collective order.
std::vector<Finding> verify_collectives(const std::vector<RankSteps>& group);

}  // namespace weft
