#include "overlap/hand_over.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

std::string key_text(int edge, MicroBatch micro_batch, Direction direction) {
  return std::string("hand-over on edge ") + std::to_string(edge) + " of micro-batch " +
         std::to_string(micro_batch.value) +
         (direction == Direction::Forward ? ", forward" : ", backward");
}

}  // namespace

void HandOver::put(int edge, MicroBatch micro_batch, Direction direction, at::Tensor tensor) {
  const bool added = buffers_.try_emplace({edge, micro_batch, direction}, std::move(tensor)).second;
  if (!added) throw InternalError(key_text(edge, micro_batch, direction) + ": put twice");
}

at::Tensor HandOver::peek(int edge, MicroBatch micro_batch, Direction direction) const {
  const auto found = buffers_.find({edge, micro_batch, direction});
  if (found == buffers_.end()) {
    throw InternalError(key_text(edge, micro_batch, direction) + ": not there");
  }
  return found->second;
}

at::Tensor HandOver::take(int edge, MicroBatch micro_batch, Direction direction) {
  at::Tensor tensor = peek(edge, micro_batch, direction);
  buffers_.erase({edge, micro_batch, direction});
  return tensor;
}

}  // namespace weft
