// Products with weights whose gradients are put off.
#pragma once

#include "model/parameters.h"
#include "model/recorded_op.h"

namespace weft {

// grad += dy^T x for dy [N, out], x [N, in], in the precision of `grad`: nothing is rounded to the
// compute type on the way.
void add_weight_gradient(at::Tensor grad, const at::Tensor& dy, const at::Tensor& x);

// residual + x W^T for x [N, in], W [out, in], residual [N, out].
at::Tensor linear_add(const at::Tensor& x, const Parameter& weight, const at::Tensor& residual,
                      const PutOff& put_off);

// The SwiGLU feed-forward (arXiv 2002.05202) of each group, down(silu(gate(x)) * up(x)), for
// x [N, H] whose rows are sorted by group, gate_up [G, 2I, H] and down [G, H, I], or without G if
// there is one group. A group may have no rows. `residual`, if defined, is added; one group only.
at::Tensor swiglu_feed_forward(const at::Tensor& x, const Parameter& gate_up, const Parameter& down,
                               const std::vector<std::int64_t>& rows, const at::Tensor& residual,
                               const PutOff& put_off);

}  // namespace weft
