// The segments at the ends of the model: embedding and head.
#pragma once

#include <map>

#include "model/layer_parameters.h"
#include "model/recorded_op.h"
#include "overlap/wgrad_store.h"

namespace weft {

class EmbeddingRunner {
 public:
  EmbeddingRunner(const ModelShape& shape, Stage stage, ParameterStore& store);

  // tokens [B, S] -> [T, H]
  at::Tensor forward(const Segment& segment, const at::Tensor& tokens);
  // Puts the segment's W into the store, `gradient` [T, H] being that of its output.
  void put_off_wgrad(const Segment& segment, at::Tensor gradient, WgradStore& wgrads);

  bool is_idle() const { return tokens_.empty(); }

 private:
  const Parameter* weight_;
  std::map<MicroBatch, at::Tensor> tokens_;  // [T]
};

class HeadRunner {
 public:
  HeadRunner(const ModelShape& shape, Stage stage, ParameterStore& store, WgradStore& wgrads);

  struct Result {
    at::Tensor logits;             // [T, V] in the compute type
    at::Tensor cross_entropy_sum;  // [] double; undefined without labels
  };
  // hidden [T, H]; labels [B, S] or undefined.
  Result forward(const Segment& segment, const at::Tensor& hidden, const at::Tensor& labels);
  // The gradient of `loss_scale` times the sum, by `hidden`.
  at::Tensor dgrad(const Segment& segment, double loss_scale);

  bool is_idle() const { return states_.empty(); }

 private:
  // The logits stay in the compute type until their gradient is formed.
  struct State {
    SegmentGraph graph;
    at::Tensor normed, logits, log_sum, labels;
  };

  HeadParameters parameters_;
  double epsilon_;
  at::ScalarType wide_;
  WgradStore* wgrads_;
  std::map<MicroBatch, State> states_;
};

}  // namespace weft
