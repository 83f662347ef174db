// Sums over a group in rank order wherever an element lies, so that the bits do not depend on how
// tensors are laid out or cut.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/communicator.h"

namespace weft {

struct SumBucket {
  GroupPtr group;
  std::vector<at::Tensor> tensors;
};

// Starts the sum of each bucket's tensors over its group; the tensors hold the sums once the work
// was waited for, and must not be written before. A group of one costs nothing. Each bucket moves
// 2 * bytes * (n - 1) / n per rank.
WorkPtr sum_in_rank_order(std::vector<SumBucket> buckets);

}  // namespace weft
