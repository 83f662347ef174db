// The experts of one rank: rows in from every rank of the expert parallel group, rows back out.
#pragma once

#include "model/parameters.h"
#include "model/recorded_op.h"

namespace weft {

// Feed-forward of `received` [R, H], whose rows are ordered by (source rank, expert, token), each
// by its expert; the result has the rows in the order in which they came. `counts` [EP * count] are
// the rows from each source rank for each expert held here. R may be 0.
at::Tensor expert_feed_forward(const at::Tensor& received, const Parameter& gate_up,
                               const Parameter& down, const std::vector<std::int64_t>& counts,
                               const PutOff& put_off);

}  // namespace weft
