#include "model/router.h"

#include <ATen/ATen.h>

#include "model/linear.h"

namespace weft {
namespace {

Routing sort_by_expert(const at::Tensor& chosen, std::int64_t experts) {
  const std::int64_t topk = chosen.size(1);
  const at::Tensor flat = chosen.flatten();
  const at::Tensor order = std::get<1>(at::sort(flat, /*stable=*/true, 0, /*descending=*/false));
  at::Tensor inverse = at::empty_like(order);
  inverse.scatter_(0, order, at::arange(order.size(0), order.options()));
  Routing routing;
  routing.token = order.div(topk, "floor");
  routing.position = inverse.view({chosen.size(0), topk}).t().contiguous();
  routing.counts = at::bincount(flat, /*weights=*/{}, experts);
  return routing;
}

// What the gradient of the logits needs.
struct Scores {
  at::Tensor chosen;         // [T, k] int64
  at::Tensor probabilities;  // [T, k]
  at::Tensor all;            // [T, E] softmax over all; undefined if nothing needs it
  at::Tensor log_sum;        // [T, 1] logsumexp; undefined without z-loss
  at::Tensor balance;        // [E] gradient of the balance loss by `all`; undefined without it
  double z_scale = 0;        // gradient of the z-loss is z_scale * log_sum * all
};

Scores score(const at::Tensor& logits, const ModelShape& shape) {
  Scores scores;
  const bool losses = shape.aux_loss_coeff > 0 || shape.z_loss_coeff > 0;
  if (losses || shape.pre_softmax) scores.all = at::softmax(logits, -1);
  at::Tensor best;
  std::tie(best, scores.chosen) = at::topk(logits, shape.topk);
  scores.probabilities =
      shape.pre_softmax ? scores.all.gather(1, scores.chosen) : at::softmax(best, -1);
  return scores;
}

// Fills in the gradients of the losses and returns their sum.
at::Tensor add_losses(Scores& scores, const at::Tensor& logits, const at::Tensor& counts,
                      const ModelShape& shape, double aux_scale) {
  at::Tensor loss;
  const double tokens = static_cast<double>(logits.size(0));
  if (shape.aux_loss_coeff > 0) {
    const double factor = shape.aux_loss_coeff * static_cast<double>(shape.experts);
    const at::Tensor share =
        counts.to(logits.scalar_type()).div_(tokens * static_cast<double>(shape.topk));
    loss = at::dot(share, scores.all.mean(0)).to(at::kDouble) * factor;
    scores.balance = share * (aux_scale * factor / tokens);
  }
  if (shape.z_loss_coeff > 0) {
    scores.log_sum = at::logsumexp(logits, 1, /*keepdim=*/true);
    scores.z_scale = 2 * aux_scale * shape.z_loss_coeff / tokens;
    const at::Tensor z = scores.log_sum.square().mean().to(at::kDouble) * shape.z_loss_coeff;
    loss = loss.defined() ? loss + z : z;
  }
  return loss;
}

at::Tensor softmax_backward(const at::Tensor& gradient, const at::Tensor& softmax) {
  const at::Tensor product = gradient * softmax;
  return product - softmax * product.sum(1, /*keepdim=*/true);
}

at::Tensor logits_gradient(const Scores& scores, const at::Tensor& gradient, std::int64_t experts,
                           bool pre_softmax) {
  const at::Tensor chosen_gradient =
      pre_softmax ? gradient : softmax_backward(gradient, scores.probabilities);
  at::Tensor spread = at::zeros({gradient.size(0), experts}, gradient.options());
  spread.scatter_(1, scores.chosen, chosen_gradient);
  at::Tensor logits = spread;
  if (pre_softmax) {
    logits =
        softmax_backward(scores.balance.defined() ? spread + scores.balance : spread, scores.all);
  } else if (scores.balance.defined()) {
    logits = spread + softmax_backward(scores.balance.expand_as(scores.all), scores.all);
  }
  if (scores.log_sum.defined()) logits = logits + scores.all * scores.log_sum * scores.z_scale;
  return logits;
}

// Sum over j of rows[position[j]], j ascending: a gather, so that the order of adding is fixed.
at::Tensor gather_and_add(const at::Tensor& rows, const at::Tensor& position) {
  at::Tensor sum = rows.index_select(0, position.select(0, 0));
  for (std::int64_t j = 1; j < position.size(0); ++j) {
    sum.add_(rows.index_select(0, position.select(0, j)));
  }
  return sum;
}

}  // namespace

Routed route(const at::Tensor& x, const Parameter& router, const ModelShape& shape,
             double aux_scale, bool shared_expert, const PutOff& put_off) {
  const at::Tensor input = x.detach();
  const at::Tensor logits = at::mm(input.to(router.main.scalar_type()), router.compute.t());
  Scores scores = score(logits, shape);
  Routed routed;
  routed.routing = sort_by_expert(scores.chosen, shape.experts);
  routed.aux_loss = add_losses(scores, logits, routed.routing.counts, shape, aux_scale);
  routed.probabilities = scores.probabilities.detach();
  routed.permuted = input.index_select(0, routed.routing.token);
  Tensors outputs{routed.permuted, routed.probabilities};
  if (shared_expert) outputs.push_back(routed.normed = input.detach());
  const auto backward = [=, &router, position = routed.routing.position, experts = shape.experts,
                         pre_softmax = shape.pre_softmax](const Tensors& gradients) -> Tensors {
    const at::Tensor d_logits = logits_gradient(scores, gradients[1], experts, pre_softmax);
    put_off([=, &router] { add_weight_gradient(router.grad, d_logits, input); });
    at::Tensor dx = gather_and_add(gradients[0], position);
    if (shared_expert) dx.add_(gradients[2]);
    dx.add_(at::mm(d_logits, router.compute).to(dx.scalar_type()));
    return {dx};
  };
  record({x}, outputs, backward);
  return routed;
}

at::Tensor merge(const at::Tensor& returned, const at::Tensor& probabilities,
                 const at::Tensor& residual, const at::Tensor& shared, const Routing& routing) {
  const at::Tensor rows = returned.detach();
  const at::Tensor weights = probabilities.detach();
  const at::Tensor narrow_weights = weights.to(rows.scalar_type());
  const at::Tensor position = routing.position;
  const at::Tensor token = routing.token;
  at::Tensor y;
  for (std::int64_t j = 0; j < position.size(0); ++j) {
    at::Tensor row = rows.index_select(0, position.select(0, j));
    const at::Tensor weight = narrow_weights.select(1, j).unsqueeze(1);
    y = j == 0 ? row.mul_(weight) : y.addcmul_(row, weight);
  }
  if (shared.defined()) y.add_(shared.detach());
  y.add_(residual.detach());

  Tensors inputs{returned, probabilities, residual};
  if (shared.defined()) inputs.push_back(shared);
  record(inputs, {y}, [=, num_inputs = inputs.size()](const Tensors& gradients) {
    const at::Tensor& dy = gradients[0];
    const at::Tensor order = position.flatten();  // the row of (j, t)
    at::Tensor d_rows = dy.index_select(0, token);
    const at::Tensor d_weights_by_row = (d_rows.to(weights.scalar_type()) * rows).sum(1);
    const at::Tensor d_weights =
        d_weights_by_row.index_select(0, order).view(position.sizes()).t().contiguous();
    at::Tensor weight_by_row = at::empty({rows.size(0)}, narrow_weights.options());
    weight_by_row.scatter_(0, order, narrow_weights.t().flatten());
    d_rows.mul_(weight_by_row.unsqueeze(1));
    Tensors result{d_rows, d_weights};
    result.resize(num_inputs, dy);
    return result;
  });
  return y;
}

}  // namespace weft
