// RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467).
#pragma once

#include "model/parameters.h"
#include "model/recorded_op.h"

namespace weft {

// x / sqrt(mean(x^2) + epsilon) * weight over the last dimension of x [T, H]. The mean is taken in
// the main type; the quotient is rounded to the compute type before it meets the weight. The
// weight's gradient, one vector, is formed with the input's; only its addition is put off.
at::Tensor rms_norm(const at::Tensor& x, const Parameter& weight, double epsilon,
                    const PutOff& put_off);

}  // namespace weft
