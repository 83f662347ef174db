// The global gradient norm and clipping by it.
#pragma once

#include "comm/communicator.h"
#include "model/parameters.h"

namespace weft {

// Sum of squares in double, in an order that depends on the number of elements alone.
double square_sum(const at::Tensor& tensor);

// Euclidean norm of the gradient of the unsharded model: every tensor once, however many ranks hold
// it; squares of a tensor are summed alone, then over tensors in the bytewise order of their names.
// The same bits on every rank of `world`, whatever the cut into stages. Errors: RuntimeFault if
// replicas differ, or if the norm is not finite, naming the first tensors at fault.
double gradient_norm(const ParameterStore& store, Group& world);

// Multiplies all gradients by clip / (norm + 1e-6) if that is below 1, as Megatron
// (megatron/core/optimizer/clip_grads.py). `clip` of 0 is no clipping. Returns the factor.
double clip_gradients(ParameterStore& store, double norm, double clip);

}  // namespace weft
