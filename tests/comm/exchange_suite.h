// Exchanges that must work alike on every communicator. Every rank of the world calls the function;
// it throws std::runtime_error naming what is wrong.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace weft {

// Ramps of integers through send, recv, all-to-all, all-gather and barrier in FP32, BF16, FP64 and
// int64, sizes drawn from `seed`, zero rows and silent ranks included.
void check_exchanges(Communicator& communicator, std::uint64_t seed);

// sum_in_rank_order against the sum written out, bit by bit, for odd sizes.
void check_rank_ordered_sum(Communicator& communicator, std::uint64_t seed);

}  // namespace weft
