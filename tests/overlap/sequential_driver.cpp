#include "overlap/sequential_driver.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weft::testing {

SequentialModel::SequentialModel(const ModelConfig& model, const std::vector<LayerKind>& kinds,
                                 at::ScalarType main_type, at::ScalarType compute_type,
                                 const std::vector<int>& cuts, ExpertShard shard) {
  store_.main_type = main_type;
  store_.compute_type = compute_type;
  layout_.map.num_ranks = static_cast<int>(cuts.size()) + 1;
  layout_.layer_kinds = kinds;
  layout_.shared_expert = model.moe_shared_expert_intermediate_size > 0;
  layout_.stages.resize(cuts.size() + 1);
  layout_.stages.front().embedding = true;
  layout_.stages.back().loss = true;
  for (int layer = 0; layer < static_cast<int>(kinds.size()); ++layer) {
    const auto stage =
        std::count_if(cuts.begin(), cuts.end(), [layer](int cut) { return cut <= layer; });
    layout_.stages[static_cast<std::size_t>(stage)].decoder_layers.push_back(layer);
  }
  for (int i = 0; i < static_cast<int>(layout_.stages.size()); ++i) {
    stages_.push_back(std::make_unique<StageRunner>(model, layout_, Stage(i), shard, store_,
                                                    wgrads_, hand_over_));
  }
}

void SequentialModel::load(const Weights& weights) {
  for (Parameter& parameter : store_.parameters) {
    for (NamedSlice& slice : parameter.slices) slice.main.copy_(weights.at(slice.name));
  }
  store_.refresh_compute();
}

double counted_labels(const std::vector<PlainBatch>& batches) {
  double counted = 0;
  for (const PlainBatch& batch : batches) counted += batch.labels.ne(-100).sum().item<double>();
  return counted;
}

void SequentialModel::begin_step(const std::vector<PlainBatch>& batches, bool grad, double counted,
                                 int parts) {
  num_micro_batches_ = static_cast<int>(batches.size());
  counted_ = counted > 0 ? counted : counted_labels(batches);
  parts_ = parts > 0 ? parts : num_micro_batches_;
  for (auto& stage : stages_) stage->begin_step(1 / counted_, 1.0 / parts_, grad);
  for (int i = 0; i < num_micro_batches_; ++i) {
    const PlainBatch& batch = batches[static_cast<std::size_t>(i)];
    for (auto& stage : stages_) stage->set_data(MicroBatch(i), {batch.tokens, batch.labels});
  }
}

std::vector<Segment> SequentialModel::forward_segments(MicroBatch micro_batch) const {
  std::vector<Segment> segments;
  for (int i = 0; i < static_cast<int>(layout_.stages.size()); ++i) {
    const StageLayers& here = layout_.stages[static_cast<std::size_t>(i)];
    const std::size_t before = segments.size();
    const auto add = [&](SegmentKind kind, int layer) {
      segments.push_back({kind, Stage(i), layer, micro_batch});
    };
    if (here.embedding) add(SegmentKind::Embedding, -1);
    for (const int layer : here.decoder_layers) {
      const LayerKind kind = layout_.layer_kinds[static_cast<std::size_t>(layer)];
      if (kind == LayerKind::Noop) continue;
      add(SegmentKind::Attention, layer);
      if (kind == LayerKind::Dense) {
        add(SegmentKind::Mlp, layer);
        continue;
      }
      if (layout_.shared_expert) add(SegmentKind::SharedExpert, layer);
      add(SegmentKind::Experts, layer);
      add(SegmentKind::Merge, layer);
    }
    if (here.loss) add(SegmentKind::Head, -1);
    if (segments.size() == before) add(SegmentKind::Identity, -1);
  }
  return segments;
}

std::vector<Segment> SequentialModel::backward_segments(MicroBatch micro_batch) const {
  std::vector<Segment> segments = forward_segments(micro_batch);
  std::reverse(segments.begin(), segments.end());
  return segments;
}

void SequentialModel::carry(WireKind kind, const Segment& segment) {
  StageRunner& stage = stage_of(segment);
  const Wire wire{kind, segment.stage, segment.layer, segment.micro_batch};
  const Splits splits = stage.splits(wire);
  const at::Tensor source = stage.source(wire);
  EXPECT_EQ(splits.input, splits.output);
  EXPECT_EQ(splits.input.at(0), source.size(0));
  stage.deliver(wire, source.clone());
  stage.release(wire);
}

std::vector<WireKind> SequentialModel::wires_before(const Segment& segment, bool forward) const {
  const bool moe = segment.layer >= 0 &&
                   layout_.layer_kinds[static_cast<std::size_t>(segment.layer)] == LayerKind::Moe;
  if (!moe) return {};
  switch (segment.kind) {
    case SegmentKind::Attention:
      return forward ? std::vector<WireKind>{} : std::vector{WireKind::DispatchBackward};
    case SegmentKind::Experts:
      return forward ? std::vector{WireKind::Counts, WireKind::Dispatch}
                     : std::vector{WireKind::CombineBackward};
    case SegmentKind::Merge:
      return forward ? std::vector{WireKind::Combine} : std::vector<WireKind>{};
    default:
      return {};
  }
}

void SequentialModel::run_forward(const Segment& segment) {
  for (const WireKind kind : wires_before(segment, /*forward=*/true)) carry(kind, segment);
  stage_of(segment).run_forward(segment);
}

void SequentialModel::run_dgrad(const Segment& segment) {
  if (segment.kind == SegmentKind::Embedding) return;
  for (const WireKind kind : wires_before(segment, /*forward=*/false)) carry(kind, segment);
  stage_of(segment).run_dgrad(segment);
}

bool SequentialModel::has_wgrad(const Segment& segment) const {
  return segment.kind != SegmentKind::Merge && segment.kind != SegmentKind::Identity;
}

void SequentialModel::run_wgrad(const Segment& segment) {
  if (has_wgrad(segment)) stage_of(segment).run_wgrad(segment);
}

void SequentialModel::run_step(const std::vector<PlainBatch>& batches) {
  store_.zero_grad();
  begin_step(batches);
  for (int i = 0; i < num_micro_batches_; ++i) {
    for (const Segment& segment : forward_segments(MicroBatch(i))) run_forward(segment);
    for (const Segment& segment : backward_segments(MicroBatch(i))) {
      run_dgrad(segment);
      run_wgrad(segment);
    }
  }
}

bool SequentialModel::is_idle() const {
  const bool stages_idle =
      std::all_of(stages_.begin(), stages_.end(), [](const auto& s) { return s->is_idle(); });
  return stages_idle && wgrads_.empty() && hand_over_.empty();
}

double SequentialModel::loss() const {
  double sum = 0;
  for (int i = 0; i < num_micro_batches_; ++i) {
    sum += stages_.back()->losses(MicroBatch(i)).cross_entropy_sum;
  }
  return sum / counted_;
}

double SequentialModel::aux_loss() const {
  double sum = 0;
  for (const auto& stage : stages_) {
    for (int i = 0; i < num_micro_batches_; ++i) {
      for (const double loss : stage->losses(MicroBatch(i)).aux_losses) sum += loss;
    }
  }
  return sum / parts_;
}

Weights SequentialModel::gradients() const {
  Weights gradients;
  for (const Parameter& parameter : store_.parameters) {
    for (const NamedSlice& slice : parameter.slices) {
      at::Tensor& sum = gradients[slice.name];
      sum = sum.defined() ? sum + slice.grad : slice.grad.clone();
    }
  }
  return gradients;
}

}  // namespace weft::testing
