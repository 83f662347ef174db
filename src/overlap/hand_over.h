// Buffers in flight between stages, keyed by (edge, micro-batch, direction).
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <tuple>

#include "base/ids.h"

namespace weft {

// Edge s joins stages s and s + 1. Forward: the output of stage s; backward: the gradient of it.
// A stage puts its output here; a Send reads it, a Recv puts what arrived here; where both stages
// are on one rank the next stage takes it with no message between. Neither side writes into a
// tensor that it has put here or taken from here.
class HandOver {
 public:
  void put(int edge, MicroBatch micro_batch, Direction direction, at::Tensor tensor);
  // The tensor stays until taken; throws InternalError naming the key if it is not there.
  at::Tensor peek(int edge, MicroBatch micro_batch, Direction direction) const;
  at::Tensor take(int edge, MicroBatch micro_batch, Direction direction);
  bool empty() const { return buffers_.empty(); }

 private:
  std::map<std::tuple<int, MicroBatch, Direction>, at::Tensor> buffers_;
};

}  // namespace weft
