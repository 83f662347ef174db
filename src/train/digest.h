// 64-bit digests of all main gradients or main weights, the same however the model is cut.
#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "model/parameters.h"

namespace weft {

// XXH3 of the tensor's elements in row-major order, as they lie in memory.
std::uint64_t tensor_digest(const at::Tensor& tensor);

// XXH3 over (name, zero byte, tensor digest as u64 little endian) of every tensor of the unsharded
// model, in the bytewise order of the names, each once. Alike on every rank of `world`. Throws
// RuntimeFault naming the tensor if replicas differ.
std::uint64_t gradient_digest(const ParameterStore& store, Group& world);
std::uint64_t parameter_digest(const ParameterStore& store, Group& world);

}  // namespace weft
