// Runs the segments of one decoder layer and keeps, per micro-batch, what passes between them.
#pragma once

#include <map>

#include "model/attention.h"
#include "model/layer_parameters.h"
#include "model/router.h"
#include "overlap/stage_runner.h"

namespace weft {

class LayerRunner {
 public:
  LayerRunner(const ModelShape& shape, const LayerParameters& parameters, LayerKind kind,
              ExpertShard shard, WgradStore& wgrads);

  // Reads and replaces `hidden`, the layer's activation between its segments: taken by Attention,
  // put back by the layer's last segment. Returns the aux loss of an Attention with a router.
  at::Tensor forward(const Segment& segment, const RotaryTable& table, double aux_scale,
                     at::Tensor& hidden);
  // The same in the other direction for the gradient.
  void dgrad(const Segment& segment, at::Tensor& gradient);

  at::Tensor source(const Wire& wire) const;
  Splits splits(const Wire& wire) const;
  void deliver(const Wire& wire, at::Tensor tensor);
  void release(const Wire& wire);

  bool is_idle() const { return states_.empty(); }

 private:
  // One micro-batch between its Attention forward and its Attention dgrad. A tensor is here only
  // while a later segment still reads it.
  struct State {
    SegmentGraph attention, mlp, shared_expert, experts, merge;
    Routing routing;
    at::Tensor residual, normed, shared, probabilities;
    at::Tensor received, returned;  // delivered by Dispatch, Combine
    at::Tensor d_residual, d_normed, d_shared, d_probabilities;
    at::Tensor d_experts, d_permuted;  // delivered by CombineBackward, DispatchBackward
    Splits dispatch;
    std::vector<std::int64_t> received_counts;  // [EP * E / EP] by (source rank, expert)
  };
  struct Entry {
    State state;
    std::map<WireKind, at::Tensor> sources;
    bool done = false;  // only sources are left, until they are released
  };

  at::Tensor attention_forward(Entry& entry, const RotaryTable& table, double aux_scale,
                               const PutOff& later, at::Tensor& hidden);
  at::Tensor mlp_forward(State& state, const PutOff& later, const at::Tensor& hidden);
  at::Tensor shared_expert_forward(State& state, const PutOff& later);
  at::Tensor merge_forward(State& state);
  at::Tensor attention_dgrad(State& state, at::Tensor& gradient);
  void deliver_counts(State& state, const at::Tensor& received);
  Entry& entry_of(MicroBatch micro_batch);
  const Entry& entry_of(MicroBatch micro_batch) const;
  void finish(MicroBatch micro_batch);
  PutOff put_off(const Segment& segment) const;

  ModelShape shape_;
  LayerParameters parameters_;
  LayerKind kind_;
  ExpertShard shard_;
  WgradStore* wgrads_;
  std::map<MicroBatch, Entry> states_;
};

}  // namespace weft
