// Cross entropy of the output head. T tokens, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft {

// Labels of this value are not counted.
inline constexpr std::int64_t kIgnoredLabel = -100;

struct CrossEntropy {
  at::Tensor sum;      // [] double, over counted labels
  at::Tensor log_sum;  // [T, 1] logsumexp of the logits in `wide`
};

// `logits` [T, V] in the compute type, `labels` [T] int64; computed in `wide` (FP32 or FP64).
CrossEntropy cross_entropy(const at::Tensor& logits, const at::Tensor& labels, at::ScalarType wide);

// scale * (softmax(logits) - onehot(labels)), rows without a counted label 0, in the type of
// `logits`.
at::Tensor cross_entropy_gradient(const at::Tensor& logits, const at::Tensor& labels,
                                  const at::Tensor& log_sum, double scale);

}  // namespace weft
