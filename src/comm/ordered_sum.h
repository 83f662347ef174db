// Sums over a group in rank order wherever an element lies, so that the bits do not depend on how
// tensors are laid out or cut.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace weft {

struct SumBucket {
  GroupPtr group;
  std::vector<at::Tensor> tensors;
};

// The sum of each bucket's tensors over its group, in two exchanges: each rank sums a share, then
// all get the shares. Each moves bytes * (n - 1) / n per rank; a group of one costs nothing.
class OrderedSum {
 public:
  // The tensors must not be written before both are done.
  explicit OrderedSum(std::vector<SumBucket> buckets);

  // Starts the first exchange; its wait() sums this rank's share.
  WorkPtr reduce();
  // Starts the second one, once the first was waited for. The tensors hold the sums once it was
  // waited for.
  WorkPtr gather();

 private:
  struct Part;
  class Reduce;
  class Gather;

  std::shared_ptr<std::vector<Part>> parts_;
};

// Both exchanges, one behind the other.
void sum_in_rank_order(std::vector<SumBucket> buckets);

}  // namespace weft
