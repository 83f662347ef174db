// Whether a run can fit into this machine at all.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "plan/run_plan.h"

namespace weft {

// Memory and swap of this machine, or what the control group of this process may take if that is
// less.
std::int64_t machine_memory_bytes();

// Bytes of weights, gradients and optimizer state that one process per rank allocates: of all
// ranks, or of one of pipeline rank `only`. Activations come on top.
std::int64_t state_bytes(const Config& config, const RunPlan& plan);
std::int64_t state_bytes(const Config& config, const RunPlan& plan, Rank only);

// Throws UserError if `needed_bytes` of state alone are more than the machine has, which would end
// without a word from the system.
void require_memory(std::int64_t needed_bytes, std::int64_t there_bytes);

}  // namespace weft
