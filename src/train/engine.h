// One rank of a run: its groups, its stages with their parameters, and the plan that it executes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "comm/groups.h"
#include "comm/ordered_sum.h"
#include "overlap/stage_runner.h"
#include "plan/run_plan.h"
#include "runtime/executor.h"

namespace weft {

// The micro-batches of this data parallel rank for one step, and what the losses are divided by.
struct StepInput {
  std::vector<MicroBatchData> micro_batches;  // [M]
  std::int64_t valid_labels = 0;              // counted labels of the global batch
};

// Losses of the global batch, the same bits on every rank and under every schedule.
struct StepLosses {
  double loss = 0;      // cross entropy, mean over the counted labels
  double aux_loss = 0;  // coefficients applied, mean over the M * DP micro-batches
};

struct StepRecord {
  StepLosses losses;
  Recording recording;
  std::int64_t peak_activation_bytes = 0;  // of this rank
};

class Engine {
 public:
  // Called by every rank of the world at once: creates groups. Parameters are initialised from the
  // seed. `plan` outlives the engine.
  Engine(const Config& config, const RunPlan& plan, Communicator& communicator);

  // Forward and backward of one step. On return the main gradients hold the sum over the global
  // batch, reduced over replicas, tied places summed. Throws InternalError if a W is still pending.
  StepRecord forward_backward(const StepInput& input);

  // Forwards only; nothing is kept.
  StepLosses evaluate(const StepInput& input);

  // Logits [B, S, V] of every micro-batch on ranks with the last stage, else empty.
  std::vector<at::Tensor> logits(const std::vector<MicroBatchData>& micro_batches);

  ParameterStore& parameters() { return store_; }
  Groups& groups() { return groups_; }
  const Coordinates& coordinates() const { return context_.coordinates; }
  const RunPlan& plan() const { return plan_; }

 private:
  Recording run(const StepPlan& steps, const std::vector<MicroBatchData>& micro_batches,
                std::int64_t valid_labels, bool grad);
  WorkPtr sum_gradients(const Wire& wire);
  std::vector<SumBucket> tensors_of(Stage stage, int layer);
  void sum_tied_gradients();
  StepLosses gather_losses(std::int64_t valid_labels);

  const RunPlan& plan_;
  ParameterStore store_;
  Groups groups_;
  WgradStore wgrads_;
  HandOver hand_over_;
  std::map<Stage, std::unique_ptr<StageRunner>> stages_;
  RankContext context_;
  MemoryCounter memory_;
  std::map<Bucket, OrderedSum> sums_;  // under way, by bucket
  int micro_batch_size_ = 1;
};

}  // namespace weft
