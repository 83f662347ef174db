// Drives the stages of one model in one thread: wires are local copies, hand-overs stay in place.
#pragma once

#include <memory>
#include <vector>

#include "overlap/stage_runner.h"
#include "support/plain_model.h"

namespace weft::testing {

double counted_labels(const std::vector<PlainBatch>& batches);

class SequentialModel {
 public:
  // The layers are cut into stages at `cuts` (layer indices at which a new stage begins).
  SequentialModel(const ModelConfig& model, const std::vector<LayerKind>& kinds,
                  at::ScalarType main_type, at::ScalarType compute_type,
                  const std::vector<int>& cuts = {}, ExpertShard shard = {});

  // Main weights from `weights` by name; experts are looked up one by one.
  void load(const Weights& weights);
  // `counted` labels and `parts` micro-batches in all; by default those of `batches`.
  void begin_step(const std::vector<PlainBatch>& batches, bool grad = true, double counted = 0,
                  int parts = 0);
  // Stages one after the other; a micro-batch's segments in their plain order.
  std::vector<Segment> forward_segments(MicroBatch micro_batch) const;
  std::vector<Segment> backward_segments(MicroBatch micro_batch) const;
  void run_forward(const Segment& segment);  // with the wires it waits for
  void run_dgrad(const Segment& segment);
  void run_wgrad(const Segment& segment);
  bool has_wgrad(const Segment& segment) const;

  // F, I, W of each micro-batch in turn.
  void run_step(const std::vector<PlainBatch>& batches);

  bool is_idle() const;
  // Shares of this model's micro-batches in the loss and the aux loss.
  double loss() const;
  double aux_loss() const;
  // Main gradients by name; the places of a tied weight summed.
  Weights gradients() const;

  // Runs the segment, whose wires have been carried by the caller.
  StageRunner& stage_of(const Segment& segment) { return stage(segment.stage.value); }
  // The wires that must be in before the segment's forward or dgrad.
  std::vector<WireKind> wires_before(const Segment& segment, bool forward) const;
  StageRunner& stage(int index) { return *stages_.at(static_cast<std::size_t>(index)); }
  WgradStore& wgrads() { return wgrads_; }
  ParameterStore& store() { return store_; }

 private:
  void carry(WireKind kind, const Segment& segment);

  Layout layout_;
  ParameterStore store_;
  WgradStore wgrads_;
  HandOver hand_over_;
  std::vector<std::unique_ptr<StageRunner>> stages_;
  int num_micro_batches_ = 0;
  double counted_ = 1;
  int parts_ = 1;
};

}  // namespace weft::testing
