// Sums of gradients over data parallel replicas, in rank order wherever an element lies.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace weft {

using ReductionBucket = std::pair<GroupPtr, std::vector<at::Tensor>>;

// Starts the sum of each bucket's tensors over its group; the tensors hold the sums once the work
// was waited for, and must not be written before. A group of one costs nothing. Each bucket moves
// 2 * bytes * (n - 1) / n per rank.
WorkPtr reduce_in_rank_order(std::vector<ReductionBucket> buckets);

}  // namespace weft
