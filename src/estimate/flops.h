// Floating point operations of one token on its way through the model.
#pragma once

#include "estimate/model_sizes.h"

namespace weft {

// A product with a weight takes 2 operations a parameter that the token meets; scores and values of
// attention 2 each per channel and earlier token, of which a causal mask leaves (S + 1) / 2 on
// average. Norms, rotations, activations and look-ups are left out, as Kaplan et al. do
// (arXiv 2001.08361, section 2.1) and PaLM after them (arXiv 2204.02311, appendix B; without the
// mask there).
struct FlopsPerToken {
  double products = 0;   // with weights, the output head apart
  double attention = 0;  // scores and values
  double head = 0;

  double forward() const { return products + attention + head; }
  // Input and weight gradients cost a forward each; of scores and values both factors are inputs.
  double training() const { return 3 * forward(); }
};

// MTP layers count, each with a pass through the head of its own.
FlopsPerToken count_flops(const ModelSizes& sizes, const Layout& layout);

}  // namespace weft
