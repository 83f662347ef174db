// Bytes of activations: what each segment of a stage keeps, from what it computes (src/model,
// src/overlap), and from that the bytes that a rank holds after each step of its plan.
//
// T tokens of a micro-batch, H hidden, A = heads * value size, Q = outputs of the products that
// make queries, keys and values, R = T * topk rows, F, F' and F_s widths of feed-forward, expert
// and shared expert, E experts, V vocabulary; e bytes of the compute type, w of the main type.
//
//   segment       kept from F to I                             kept from I to W
//   Embedding                                                  T H e
//   Attention     x and normed 2 T H e, T Q e, T A e,          per product T (in + out) e
//                 logsumexp T heads w, 1 / rms T w
//     in MoE      + residual and normed 2 T H e, order 24 R,   + T E w + T H e
//                 probabilities R w, scores T E w if used
//   Mlp           residual and normed 2 T H e, 3 T F e, T w    2 T H e, 3 T F e
//   SharedExpert  3 T F_s e                                    3 T F_s e, T H e
//   Experts       R H e, 3 R F' e; order 16 R if EP > 1        2 R H e, 3 R F' e
//   Merge         R H e
//   Head          hidden and normed 2 T H e, T V e, 2 T w      T H e, T V e
//   MtpHead       as Head
//   MtpProjection hidden 2 T H e, both normed 2 T H e, 2 T w   4 T H e
//
// Under latent attention Q are latents before and after their norms, the rotated key once, queries,
// keys, and values beside the keys' part that is not rotated.
//
// A wire's source and target (R H e each, a hand-over T H e for each hidden state) are held from
// start to release.
// Routing is taken to be even: an expert rank receives R rows. Left out: rotary tables, token
// counts, sums of norms' gradients, and workspace inside LibTorch's operators, but the largest
// temporaries (logits in the main type, gradients of a gated feed-forward, of queries and of rows)
// are counted where a step peaks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/derive.h"
#include "costs/costs.h"
#include "estimate/model_sizes.h"
#include "schedule/step.h"

namespace weft {

// By how much a segment's steps change the bytes held (its input and output included, other
// segments' included where it is their last reader), and the most that is held at once on top of
// what was there before.
struct SegmentBytes {
  std::int64_t forward = 0, forward_peak = 0;
  std::int64_t dgrad = 0, dgrad_peak = 0;
  std::int64_t wgrad = 0, wgrad_peak = 0;

  bool operator==(const SegmentBytes&) const = default;
};

struct ActivationTable {
  std::map<SegmentKey, SegmentBytes> segments;
  std::int64_t hidden = 0;                        // a stage's output, T H e
  std::int64_t rows = 0;                          // what dispatch and combine carry, R H e
  std::map<Bucket, std::int64_t> reduction = {};  // buffers of its sum; none: 0
};

ActivationTable activation_table(const ModelSizes& sizes, std::int64_t tokens,
                                 const ElementBytes& element, int expert_ranks);

struct RankActivations {
  std::vector<std::int64_t> during;  // [steps] the most that is held while the step runs
  std::vector<std::int64_t> after;   // [steps] bytes held when the step is done
  std::int64_t peak = 0;
  std::size_t peak_step = 0;  // during which it is reached first
};

// Per rank of the plan. Nothing is left at the end of a plan that passes verify_steps.
std::vector<RankActivations> count_activations(const StepPlan& plan, const ActivationTable& table);

}  // namespace weft
