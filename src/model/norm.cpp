#include "model/norm.h"

#include <ATen/ATen.h>

namespace weft {
namespace {

// With n = x / rms, p = dy * n: dw = sum_t p, dx = (dy * w - n * mean_h(p * w)) / rms.
Tensors rms_norm_backward(const at::Tensor& x, const at::Tensor& inverse_rms,
                          const Parameter& weight, const at::Tensor& gradient,
                          const PutOff& put_off) {
  const at::ScalarType wide = weight.grad.scalar_type();
  const at::Tensor w = weight.compute.to(wide);
  const at::Tensor dy = gradient.to(wide);
  const at::Tensor normed = x * inverse_rms;
  const at::Tensor product = dy * normed;
  const at::Tensor dw = product.sum(0);
  put_off([&weight, dw] { at::Tensor(weight.grad).add_(dw); });
  const at::Tensor mean = at::mv(product, w).div_(static_cast<double>(x.size(1)));
  at::Tensor dx = dy * w;
  dx.addcmul_(normed, mean.unsqueeze(1), -1).mul_(inverse_rms);
  return {dx.to(gradient.scalar_type())};
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const Parameter& weight, double epsilon,
                    const PutOff& put_off) {
  const at::Tensor input = x.detach();
  const at::ScalarType wide = weight.main.scalar_type();
  const at::Tensor mean = at::linalg_vector_norm(input, 2, {-1}, /*keepdim=*/true, wide)
                              .square_()
                              .div_(static_cast<double>(x.size(1)));
  const at::Tensor inverse_rms = at::rsqrt(mean + epsilon);
  at::Tensor y = input * inverse_rms;
  y = y.to(input.scalar_type()).mul_(weight.compute);
  record({x}, {y}, [=, &weight](const Tensors& gradients) {
    return rms_norm_backward(input, inverse_rms, weight, gradients[0], put_off);
  });
  return y;
}

}  // namespace weft
