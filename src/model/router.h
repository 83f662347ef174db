// Top-k routing with softmax scores, its losses, and the two permutations of a MoE layer.
// T tokens, k choices each, E experts, H hidden.
#pragma once

#include "model/model_shape.h"
#include "model/parameters.h"
#include "model/recorded_op.h"

namespace weft {

// Which token went where. Rows are sorted by expert, then token, so those for one rank of an expert
// parallel group lie together. int64.
struct Routing {
  at::Tensor token;     // [T*k], the token of each row
  at::Tensor position;  // [k, T], the row of each choice of each token
  at::Tensor counts;    // [E], rows per expert
};

struct Routed {
  at::Tensor permuted;       // [T*k, H]
  at::Tensor probabilities;  // [T, k], in the main type
  at::Tensor normed;         // [T, H], the input once more, for the shared expert; if asked for
  Routing routing;
  at::Tensor aux_loss;  // [] double, coefficients applied; undefined if both are 0
};

// Routes x [T, H]. Losses over all tokens here: aux_loss_coeff * E * sum_e f_e * p_e with f_e the
// expert's share of the T*k choices and p_e its mean probability (Switch, arXiv 2101.03961, eq. 4),
// and z_loss_coeff * mean(logsumexp(logits)^2) (ST-MoE, arXiv 2202.08906, eq. 5); `aux_scale` times
// their gradient enters in the backward. The gradients of the outputs are added in one fixed order.
Routed route(const at::Tensor& x, const Parameter& router, const ModelShape& shape,
             double aux_scale, bool shared_expert, const PutOff& put_off);

// residual + shared + sum_j probabilities[t, j] * returned[position[j, t]] for returned [T*k, H];
// `shared` may be undefined.
at::Tensor merge(const at::Tensor& returned, const at::Tensor& probabilities,
                 const at::Tensor& residual, const at::Tensor& shared, const Routing& routing);

}  // namespace weft
