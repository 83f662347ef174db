#include "model/head.h"

#include <ATen/ATen.h>

namespace weft {

CrossEntropy cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                           at::ScalarType wide) {
  const at::Tensor ignored = labels.eq(kIgnoredLabel);
  const at::Tensor index = labels.masked_fill(ignored, 0).unsqueeze(1);
  CrossEntropy result;
  result.log_sum = at::logsumexp(logits.to(wide), 1, /*keepdim=*/true);
  const at::Tensor losses = (result.log_sum - logits.gather(1, index)).squeeze(1);
  result.sum = losses.masked_fill_(ignored, 0).sum(at::kDouble);
  return result;
}

at::Tensor cross_entropy_gradient(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& log_sum, double scale) {
  const at::Tensor ignored = labels.eq(kIgnoredLabel);
  const at::Tensor index = labels.masked_fill(ignored, 0).unsqueeze(1);
  at::Tensor gradient = (logits - log_sum).exp_();
  gradient.scatter_add_(1, index, at::full_like(index, -1, gradient.options()));
  const at::Tensor row_scale =
      at::full(labels.sizes(), scale, gradient.options()).masked_fill_(ignored, 0).unsqueeze(1);
  return gradient.mul_(row_scale).to(logits.scalar_type());
}

}  // namespace weft
