// Runs the segments of one stage: forward, input gradient (I) and weight gradients (W) apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "layout/layout.h"
#include "model/parameters.h"
#include "overlap/hand_over.h"
#include "overlap/wgrad_store.h"
#include "schedule/step.h"

namespace weft {

// T tokens of a micro-batch (micro-batch size * sequence length), H hidden, K top-k, E experts,
// R rows received by this rank's experts.

struct ExpertShard {
  int rank = 0;  // position in the expert parallel group
  int size = 1;  // EP; this rank holds experts [rank * E / EP, (rank + 1) * E / EP)
};

// What the stages at the ends of the model need of a micro-batch.
struct MicroBatchData {
  at::Tensor tokens;  // [B, S] int64
  at::Tensor labels;  // [B, S] int64, -100 is not counted
};

// Sums of one micro-batch; loss in double so that the order of adding is all that could matter.
struct MicroBatchLosses {
  double cross_entropy_sum = 0;    // over counted labels, not yet divided
  std::vector<double> aux_losses;  // of this stage's MoE layers in order, coefficients applied
};

// Rows of dimension 0 that go to and come from each member of the expert parallel group.
struct Splits {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
};

class StageRunner {
 public:
  // Creates the stage's parameters in `store` (not yet initialised).
  StageRunner(const ModelConfig& model, const Layout& layout, Stage stage, ExpertShard shard,
              ParameterStore& store, WgradStore& wgrads, HandOver& hand_over);
  ~StageRunner();

  // Starts a step: `loss_scale` is 1 / (counted labels of the global batch), `aux_scale` is
  // 1 / (M * DP). With `grad` false nothing is kept for a backward.
  void begin_step(double loss_scale, double aux_scale, bool grad);
  void set_data(MicroBatch micro_batch, MicroBatchData data);

  void run_forward(const Segment& segment);
  void run_dgrad(const Segment& segment);
  void run_wgrad(const Segment& segment);

  // All-to-all wires and Counts: what goes out, how it is split, and what came in.
  at::Tensor source(const Wire& wire) const;
  Splits splits(const Wire& wire) const;
  void deliver(const Wire& wire, at::Tensor tensor);
  // Drops the source of a wire.
  void release(const Wire& wire);

  const MicroBatchLosses& losses(MicroBatch micro_batch) const;
  // Logits [B, S, V] of the micro-batch, kept only if `keep_logits` was called (inference).
  void keep_logits();
  at::Tensor logits(MicroBatch micro_batch) const;
  // Nothing of the step is left: no saved activations.
  bool is_idle() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
