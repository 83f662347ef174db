// Verifiers: each reads a plan and returns all its findings, each with the places where it shows as
// a text grid; an empty list is a proof. A verifier passes over what is missing or stands twice,
// which is for verify_once and verify_messages to say.
#pragma once

#include <vector>

#include "base/error.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

// --- Compute level: reads F, B, I, W and pairs, passes over transfers.

// Every (stage, micro-batch) has one F and one B, or one I and one W, on the stage's rank; a plan
// of forwards only has F's only. A pair is one F and one B or I.
std::vector<Finding> verify_once(const Schedule& schedule, bool forward_only = false);
// Every W stands behind its I.
std::vector<Finding> verify_wgrads(const Schedule& schedule);
// F after the F of the stage before, B or I after its own F and that of the stage behind: no cycle
// over all ranks. One that is there is shown with the fewest places.
std::vector<Finding> verify_data_flow(const Schedule& schedule);
// All three.
std::vector<Finding> verify_order(const Schedule& schedule, bool forward_only = false);

// --- Transfers level.

// What leaves a rank is sent once and received once, and nothing else is; sent behind the cell that
// computes it, received ahead of the cell that needs it.
std::vector<Finding> verify_messages(const Schedule& schedule);
// Each (edge, direction) is one queue: received in the order in which they are sent.
std::vector<Finding> verify_message_order(const Schedule& schedule);
// All stages are reduced once, behind their last W, or none is.
std::vector<Finding> verify_reductions(const Schedule& schedule);
// Nothing waits for itself, also if no message is buffered.
std::vector<Finding> verify_rendezvous(const Schedule& schedule);
// All four.
std::vector<Finding> verify_transfers(const Schedule& schedule);

// --- Steps level. Read from the places of all steps (step_places.h), which are found once for all.
class StepPlaces;

// Every step of every (stage, micro-batch) is there once, on the stage's rank, and no other; the
// spans of a rank part its steps.
std::vector<Finding> verify_once(const StepPlaces& places);
// Every W stands behind its I.
std::vector<Finding> verify_wgrads(const StepPlaces& places);
// Segments and wires of a micro-batch within a stage, and between neighbouring stages of one rank:
// each behind what it reads, each wait behind its start.
std::vector<Finding> verify_data_flow(const StepPlaces& places);
// A wire's source is given back behind its last use, its wait.
std::vector<Finding> verify_releases(const StepPlaces& places);
// As at the transfers level.
std::vector<Finding> verify_reductions(const StepPlaces& places);
std::vector<Finding> verify_message_order(const StepPlaces& places);
std::vector<Finding> verify_rendezvous(const StepPlaces& places);
// All seven.
std::vector<Finding> verify_steps(const StepPlan& plan, bool forward_only = false);

// The members of a group (data parallel neighbours of one pipeline rank, so of the expert parallel
// group too) start the same collectives in the same order on every communicator, and no member
// waits for one that waits for it.
std::vector<Finding> verify_collectives(const std::vector<RankSteps>& group);

}  // namespace weft
