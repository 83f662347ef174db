// Flags that say what another flag says, in other words or another unit.
#pragma once

#include <vector>

#include "base/error.h"
#include "config/request.h"

namespace weft {

// Sets the flag that each alias given stands for; it then counts as given there (`sources`).
// Appends a violation where the two disagree, or where the other flag does not take the value.
//   --bf16                         --params-dtype bf16
//   --padded-vocab-size V          --vocab-size V; beats it where both are given
//   --moe-intermediate-size n      --moe-ffn-hidden-size n
//   --n-shared-experts n           --moe-shared-expert-intermediate-size n * width of an expert
//   --distributed-timeout-minutes  --distributed-timeout-seconds 60 times as many
//   --lr-warmup-fraction f         --lr-warmup-iters f * steps of the decay, rounded down
void apply_aliases(Request& request, std::vector<Violation>& violations);

}  // namespace weft
