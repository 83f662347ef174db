#include "model/linear.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace weft {
namespace {

using Rows = std::vector<std::int64_t>;

// A loop of plain products: as fast as at::_grouped_mm on CPU, and there in FP64 too.
template <class PerGroup>
void for_each_group(const Rows& rows, PerGroup per_group) {
  std::int64_t first = 0;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    if (rows[group] > 0) per_group(static_cast<std::int64_t>(group), first, rows[group]);
    first += rows[group];
  }
}

// x [N, in] times each group's weight: [in, out] after `transposed` has been applied.
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& weight, const Rows& rows,
                           bool transposed) {
  if (weight.dim() == 2) return at::mm(x, transposed ? weight.t() : weight);
  at::Tensor y = at::empty({x.size(0), weight.size(transposed ? 1 : 2)}, x.options());
  for_each_group(rows, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    const at::Tensor matrix = weight.select(0, group);
    at::Tensor out = y.narrow(0, first, count);
    at::mm_out(out, x.narrow(0, first, count), transposed ? matrix.t() : matrix);
  });
  return y;
}

void add_grouped_weight_gradient(const at::Tensor& grad, const at::Tensor& dy, const at::Tensor& x,
                                 const Rows& rows) {
  if (grad.dim() == 2) return add_weight_gradient(grad, dy, x);
  for_each_group(rows, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
    add_weight_gradient(grad.select(0, group), dy.narrow(0, first, count),
                        x.narrow(0, first, count));
  });
}

at::Tensor swiglu(const at::Tensor& gate_up) {
  const std::int64_t width = gate_up.size(1) / 2;
  return at::silu(gate_up.narrow(1, 0, width)).mul_(gate_up.narrow(1, width, width));
}

at::Tensor swiglu_backward(const at::Tensor& gradient, const at::Tensor& gate_up) {
  const std::int64_t width = gate_up.size(1) / 2;
  const at::Tensor gate = gate_up.narrow(1, 0, width);
  at::Tensor result = at::empty_like(gate_up);
  at::Tensor gate_gradient = result.narrow(1, 0, width);
  at::Tensor up_gradient = result.narrow(1, width, width);
  at::silu_out(up_gradient, gate).mul_(gradient);
  const at::Tensor silu_gradient = gradient * gate_up.narrow(1, width, width);
  at::silu_backward_out(gate_gradient, silu_gradient, gate);
  return result;
}

}  // namespace

void add_weight_gradient(at::Tensor grad, const at::Tensor& dy, const at::Tensor& x) {
  grad.addmm_(dy.to(grad.scalar_type()).t(), x.to(grad.scalar_type()));
}

at::Tensor linear_add(const at::Tensor& x, const Parameter& weight, const at::Tensor& residual,
                      const PutOff& put_off) {
  const at::Tensor input = x.detach();
  at::Tensor y = at::addmm(residual.detach(), input, weight.compute.t());
  record({x, residual}, {y}, [input, &weight, put_off](const Tensors& gradients) -> Tensors {
    const at::Tensor dy = gradients[0];
    put_off([input, &weight, dy] { add_weight_gradient(weight.grad, dy, input); });
    return {at::mm(dy, weight.compute), dy};
  });
  return y;
}

at::Tensor swiglu_feed_forward(const at::Tensor& x, const Parameter& gate_up, const Parameter& down,
                               const Rows& rows, const at::Tensor& residual,
                               const PutOff& put_off) {
  const at::Tensor input = x.detach();
  const at::Tensor middle = grouped_product(input, gate_up.compute, rows, /*transposed=*/true);
  const at::Tensor active = swiglu(middle);
  const bool with_residual = residual.defined();
  at::Tensor y = with_residual ? at::addmm(residual.detach(), active, down.compute.t())
                               : grouped_product(active, down.compute, rows, /*transposed=*/true);
  Tensors inputs{x};
  if (with_residual) inputs.push_back(residual);
  record(inputs, {y}, [=, &gate_up, &down](const Tensors& gradients) -> Tensors {
    const at::Tensor dy = gradients[0].contiguous();
    put_off([=, &down] { add_grouped_weight_gradient(down.grad, dy, active, rows); });
    const at::Tensor d_active = grouped_product(dy, down.compute, rows, /*transposed=*/false);
    const at::Tensor d_middle = swiglu_backward(d_active, middle);
    put_off([=, &gate_up] { add_grouped_weight_gradient(gate_up.grad, d_middle, input, rows); });
    Tensors result{grouped_product(d_middle, gate_up.compute, rows, /*transposed=*/false)};
    if (with_residual) result.push_back(dy);
    return result;
  });
  return y;
}

}  // namespace weft
