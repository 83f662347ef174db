#include "overlap/stage_runner.h"

#include <ATen/ATen.h>

#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "overlap/layer_runner.h"
#include "overlap/model_ends.h"

namespace weft {
namespace {

// Losses as the device left them; read by the host only when asked for.
struct PendingLosses {
  at::Tensor cross_entropy_sum;
  std::vector<at::Tensor> aux_losses;  // by ascending layer
};

// What a micro-batch has between two segments of the stage.
struct MicroBatchState {
  MicroBatchData data;
  at::Tensor hidden;
  at::Tensor gradient;
};

}  // namespace

class StageRunner::Impl {
 public:
  Impl(const ModelConfig& model, const Layout& layout, Stage stage, ExpertShard shard,
       ParameterStore& store, WgradStore& wgrads, HandOver& hand_over);

  void begin_step(double loss_scale, double aux_scale, bool grad);
  void set_data(MicroBatch micro_batch, MicroBatchData data);
  void run_forward(const Segment& segment);
  void run_dgrad(const Segment& segment);
  void run_wgrad(const Segment& segment);
  LayerRunner& layer(int index);
  const MicroBatchLosses& losses(MicroBatch micro_batch);
  bool is_idle() const;

  bool keep_logits = false;
  std::map<MicroBatch, at::Tensor> logits;

 private:
  bool enters_forward(const Segment& segment) const;
  bool leaves_forward(const Segment& segment) const;
  bool is_first_layer(const Segment& segment) const;
  bool is_end_of_last_layer(const Segment& segment) const;
  std::int64_t sequence_of(MicroBatch micro_batch) const;
  RotaryTable table_for(std::int64_t sequence);
  void head_forward(const Segment& segment, MicroBatchState& state);
  void pass_gradient_down(const Segment& segment, MicroBatchState& state);
  void drop_if_empty(MicroBatch micro_batch);

  ModelShape shape_;
  Stage stage_;
  at::TensorOptions table_options_;
  WgradStore* wgrads_;
  HandOver* hand_over_;
  std::optional<EmbeddingRunner> embedding_;
  std::map<int, LayerRunner> layers_;  // without noop layers
  std::optional<HeadRunner> head_;
  RotaryTable table_;
  double loss_scale_ = 0;
  double aux_scale_ = 0;
  bool grad_ = false;
  std::map<MicroBatch, MicroBatchState> micro_batches_;
  std::map<MicroBatch, std::int64_t> sequences_;  // S where tokens were given
  std::map<MicroBatch, PendingLosses> pending_losses_;
  std::map<MicroBatch, MicroBatchLosses> losses_;
};

StageRunner::Impl::Impl(const ModelConfig& model, const Layout& layout, Stage stage,
                        ExpertShard shard, ParameterStore& store, WgradStore& wgrads,
                        HandOver& hand_over)
    : shape_(shape_of(model)),
      stage_(stage),
      table_options_(at::TensorOptions(store.device).dtype(store.main_type)),
      wgrads_(&wgrads),
      hand_over_(&hand_over) {
  const StageLayers& here = layout.stages.at(static_cast<std::size_t>(stage.value));
  weft_assert(here.mtp_layers.empty(), "a stage without multi-token prediction");
  if (here.embedding) embedding_.emplace(shape_, stage, store);
  const std::int64_t held = shape_.experts / shard.size;
  const ExpertRange experts{shard.rank * held, held};
  for (const int index : here.decoder_layers) {
    const LayerKind kind = layout.layer_kinds.at(static_cast<std::size_t>(index));
    if (kind == LayerKind::Noop) continue;
    const LayerParameters made = create_layer(store, shape_, index, kind, stage, experts);
    layers_.try_emplace(index, shape_, made, kind, shard, wgrads);
  }
  if (here.loss) head_.emplace(shape_, stage, store, wgrads);
}

void StageRunner::Impl::begin_step(double loss_scale, double aux_scale, bool grad) {
  weft_assert(is_idle(), "a step begins when nothing of the last one is left");
  loss_scale_ = loss_scale;
  aux_scale_ = aux_scale;
  grad_ = grad;
  sequences_.clear();
  pending_losses_.clear();
  losses_.clear();
  logits.clear();
}

void StageRunner::Impl::set_data(MicroBatch micro_batch, MicroBatchData data) {
  if (data.tokens.defined()) sequences_[micro_batch] = data.tokens.size(1);
  if (embedding_) micro_batches_[micro_batch].data.tokens = std::move(data.tokens);
  if (head_ && data.labels.defined()) {
    micro_batches_[micro_batch].data.labels = std::move(data.labels);
  }
}

LayerRunner& StageRunner::Impl::layer(int index) {
  const auto found = layers_.find(index);
  weft_assert(found != layers_.end(), "the stage holds the layer");
  return found->second;
}

bool StageRunner::Impl::is_first_layer(const Segment& segment) const {
  return !layers_.empty() && segment.layer == layers_.begin()->first;
}

bool StageRunner::Impl::is_end_of_last_layer(const Segment& segment) const {
  const bool ends_layer = segment.kind == SegmentKind::Mlp || segment.kind == SegmentKind::Merge;
  return ends_layer && !layers_.empty() && segment.layer == layers_.rbegin()->first;
}

bool StageRunner::Impl::enters_forward(const Segment& segment) const {
  if (segment.kind == SegmentKind::Identity) return true;
  if (embedding_) return false;
  return segment.kind == SegmentKind::Head
             ? layers_.empty()
             : segment.kind == SegmentKind::Attention && is_first_layer(segment);
}

bool StageRunner::Impl::leaves_forward(const Segment& segment) const {
  if (segment.kind == SegmentKind::Identity) return true;
  if (head_) return false;
  return segment.kind == SegmentKind::Embedding ? layers_.empty() : is_end_of_last_layer(segment);
}

std::int64_t StageRunner::Impl::sequence_of(MicroBatch micro_batch) const {
  const auto found = sequences_.find(micro_batch);
  return found != sequences_.end() ? found->second : shape_.sequence;
}

RotaryTable StageRunner::Impl::table_for(std::int64_t sequence) {
  if (!table_.cosine.defined() || table_.cosine.size(0) < sequence) {
    table_ = rotary_table(sequence, shape_.head_size, shape_.rotary_base, table_options_);
  }
  return {table_.cosine.narrow(0, 0, sequence), table_.sine.narrow(0, 0, sequence)};
}

void StageRunner::Impl::head_forward(const Segment& segment, MicroBatchState& state) {
  const at::Tensor labels = std::exchange(state.data.labels, at::Tensor());
  const at::Tensor hidden = std::exchange(state.hidden, at::Tensor());
  HeadRunner::Result result = head_->forward(segment, hidden, labels);
  pending_losses_[segment.micro_batch].cross_entropy_sum = std::move(result.cross_entropy_sum);
  if (keep_logits) {
    logits[segment.micro_batch] =
        result.logits.view({-1, sequence_of(segment.micro_batch), shape_.vocabulary});
  }
}

void StageRunner::Impl::run_forward(const Segment& segment) {
  const at::AutoGradMode mode(grad_);
  const MicroBatch micro_batch = segment.micro_batch;
  MicroBatchState& state = micro_batches_[micro_batch];
  if (enters_forward(segment)) {
    state.hidden = hand_over_->take(stage_.value - 1, micro_batch, Direction::Forward);
  }
  switch (segment.kind) {
    case SegmentKind::Embedding:
      state.hidden = embedding_->forward(segment, std::exchange(state.data.tokens, at::Tensor()));
      break;
    case SegmentKind::Head:
      head_forward(segment, state);
      break;
    case SegmentKind::Attention:
    case SegmentKind::Mlp:
    case SegmentKind::SharedExpert:
    case SegmentKind::Experts:
    case SegmentKind::Merge: {
      const RotaryTable table = table_for(sequence_of(micro_batch));
      const at::Tensor aux_loss =
          layer(segment.layer).forward(segment, table, aux_scale_, state.hidden);
      if (aux_loss.defined()) pending_losses_[micro_batch].aux_losses.push_back(aux_loss);
      break;
    }
    case SegmentKind::MtpProjection:
    case SegmentKind::MtpHead:
      throw InternalError("a stage without multi-token prediction has no such segment");
    case SegmentKind::Identity:
      break;
  }
  if (leaves_forward(segment)) {
    hand_over_->put(stage_.value, micro_batch, Direction::Forward,
                    std::exchange(state.hidden, at::Tensor()));
  }
  drop_if_empty(micro_batch);
}

void StageRunner::Impl::run_dgrad(const Segment& segment) {
  const at::NoGradGuard no_grad;
  const MicroBatch micro_batch = segment.micro_batch;
  MicroBatchState& state = micro_batches_[micro_batch];
  if (leaves_forward(segment)) {
    state.gradient = hand_over_->take(stage_.value, micro_batch, Direction::Backward);
  }
  switch (segment.kind) {
    case SegmentKind::Embedding:
      throw InternalError("Embedding has no input gradient");
    case SegmentKind::Head:
      state.gradient = head_->dgrad(segment, loss_scale_);
      break;
    case SegmentKind::Attention:
    case SegmentKind::Mlp:
    case SegmentKind::SharedExpert:
    case SegmentKind::Experts:
    case SegmentKind::Merge:
      layer(segment.layer).dgrad(segment, state.gradient);
      break;
    case SegmentKind::MtpProjection:
    case SegmentKind::MtpHead:
      throw InternalError("a stage without multi-token prediction has no such segment");
    case SegmentKind::Identity:
      break;
  }
  pass_gradient_down(segment, state);
  drop_if_empty(micro_batch);
}

// The gradient of the stage's input goes to the stage before; that of the embedding's output
// becomes the embedding's W.
void StageRunner::Impl::pass_gradient_down(const Segment& segment, MicroBatchState& state) {
  const bool ends_backward =
      segment.kind == SegmentKind::Head
          ? layers_.empty()
          : segment.kind == SegmentKind::Attention && is_first_layer(segment);
  if (enters_forward(segment)) {
    hand_over_->put(stage_.value - 1, segment.micro_batch, Direction::Backward,
                    std::exchange(state.gradient, at::Tensor()));
  } else if (embedding_ && ends_backward) {
    embedding_->put_off_wgrad({SegmentKind::Embedding, stage_, -1, segment.micro_batch},
                              std::exchange(state.gradient, at::Tensor()), *wgrads_);
  }
}

void StageRunner::Impl::run_wgrad(const Segment& segment) {
  const at::NoGradGuard no_grad;
  if (segment.kind == SegmentKind::Embedding && leaves_forward(segment)) {
    embedding_->put_off_wgrad(
        segment, hand_over_->take(stage_.value, segment.micro_batch, Direction::Backward),
        *wgrads_);
  }
  wgrads_->run(segment);
}

void StageRunner::Impl::drop_if_empty(MicroBatch micro_batch) {
  const auto found = micro_batches_.find(micro_batch);
  const MicroBatchState& state = found->second;
  const bool in_use = state.hidden.defined() || state.gradient.defined() ||
                      state.data.tokens.defined() || state.data.labels.defined();
  if (!in_use) micro_batches_.erase(found);
}

const MicroBatchLosses& StageRunner::Impl::losses(MicroBatch micro_batch) {
  MicroBatchLosses& losses = losses_[micro_batch];
  auto pending = pending_losses_.extract(micro_batch);
  if (pending.empty()) return losses;
  if (pending.mapped().cross_entropy_sum.defined()) {
    losses.cross_entropy_sum = pending.mapped().cross_entropy_sum.item<double>();
  }
  for (const at::Tensor& loss : pending.mapped().aux_losses) {
    losses.aux_losses.push_back(loss.item<double>());
  }
  return losses;
}

bool StageRunner::Impl::is_idle() const {
  for (const auto& [index, runner] : layers_) {
    if (!runner.is_idle()) return false;
  }
  const bool ends_idle = (!embedding_ || embedding_->is_idle()) && (!head_ || head_->is_idle());
  return ends_idle && micro_batches_.empty();
}

StageRunner::StageRunner(const ModelConfig& model, const Layout& layout, Stage stage,
                         ExpertShard shard, ParameterStore& store, WgradStore& wgrads,
                         HandOver& hand_over)
    : impl_(std::make_unique<Impl>(model, layout, stage, shard, store, wgrads, hand_over)) {}

StageRunner::~StageRunner() = default;

void StageRunner::begin_step(double loss_scale, double aux_scale, bool grad) {
  impl_->begin_step(loss_scale, aux_scale, grad);
}

void StageRunner::set_data(MicroBatch micro_batch, MicroBatchData data) {
  impl_->set_data(micro_batch, std::move(data));
}

void StageRunner::run_forward(const Segment& segment) { impl_->run_forward(segment); }
void StageRunner::run_dgrad(const Segment& segment) { impl_->run_dgrad(segment); }
void StageRunner::run_wgrad(const Segment& segment) { impl_->run_wgrad(segment); }

at::Tensor StageRunner::source(const Wire& wire) const {
  return impl_->layer(wire.layer).source(wire);
}

Splits StageRunner::splits(const Wire& wire) const { return impl_->layer(wire.layer).splits(wire); }

void StageRunner::deliver(const Wire& wire, at::Tensor tensor) {
  impl_->layer(wire.layer).deliver(wire, std::move(tensor));
}

void StageRunner::release(const Wire& wire) { impl_->layer(wire.layer).release(wire); }

const MicroBatchLosses& StageRunner::losses(MicroBatch micro_batch) const {
  return impl_->losses(micro_batch);
}

void StageRunner::keep_logits() { impl_->keep_logits = true; }

at::Tensor StageRunner::logits(MicroBatch micro_batch) const {
  const auto found = impl_->logits.find(micro_batch);
  weft_assert(found != impl_->logits.end(), "logits are kept and the head has run");
  return found->second;
}

bool StageRunner::is_idle() const { return impl_->is_idle(); }

}  // namespace weft
