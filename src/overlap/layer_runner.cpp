#include "overlap/layer_runner.h"

#include <ATen/ATen.h>

#include <numeric>
#include <utility>

#include "base/error.h"
#include "model/experts.h"
#include "model/linear.h"
#include "model/norm.h"

namespace weft {
namespace {

// Sums of `counts` [EP, experts per rank] over the experts of each rank.
std::vector<std::int64_t> rows_per_rank(const std::vector<std::int64_t>& counts, int ranks) {
  const std::size_t experts = counts.size() / static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> rows;
  for (auto first = counts.begin(); first != counts.end();
       first += static_cast<std::ptrdiff_t>(experts)) {
    rows.push_back(
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(experts), std::int64_t{0}));
  }
  return rows;
}

std::vector<std::int64_t> to_host(const at::Tensor& counts) {
  const at::Tensor host = counts.to(at::kCPU).contiguous();
  const auto* values = host.const_data_ptr<std::int64_t>();
  return {values, values + host.numel()};
}

at::Tensor take(at::Tensor& tensor, const char* what) {
  weft_assert(tensor.defined(), what);
  return std::exchange(tensor, at::Tensor());
}

Splits reversed(const Splits& splits) { return {splits.output, splits.input}; }

}  // namespace

LayerRunner::LayerRunner(const ModelShape& shape, const LayerParameters& parameters, LayerKind kind,
                         ExpertShard shard, WgradStore& wgrads)
    : shape_(shape), parameters_(parameters), kind_(kind), shard_(shard), wgrads_(&wgrads) {}

PutOff LayerRunner::put_off(const Segment& segment) const {
  return [wgrads = wgrads_, segment](WgradTerm wgrad) { wgrads->push(segment, std::move(wgrad)); };
}

at::Tensor LayerRunner::attention_forward(Entry& entry, const RotaryTable& table, double aux_scale,
                                          const PutOff& later, at::Tensor& hidden) {
  State& state = entry.state;
  SegmentGraph& graph = state.attention;
  const double epsilon = shape_.norm_epsilon;
  const at::Tensor x = graph.input(take(hidden, "Attention has its input"));
  const at::Tensor residual =
      attention(rms_norm(x, *parameters_.attention_norm, epsilon, later), x,
                {*parameters_.qkv, *parameters_.attention_output}, table, shape_, later);
  if (kind_ == LayerKind::Dense) {
    hidden = graph.output(residual);
    return {};
  }
  const bool shared = shape_.shared_ffn > 0;
  Routed routed = route(rms_norm(residual, *parameters_.ffn_norm, epsilon, later),
                        *parameters_.router, shape_, aux_scale, shared, later);
  entry.sources[WireKind::Dispatch] = graph.output(routed.permuted);
  entry.sources[WireKind::Counts] = routed.routing.counts;
  state.probabilities = graph.output(routed.probabilities);
  state.residual = graph.output(residual);
  if (shared) state.normed = graph.output(routed.normed);
  state.routing = std::move(routed.routing);
  return routed.aux_loss;
}

at::Tensor LayerRunner::mlp_forward(State& state, const PutOff& later, const at::Tensor& hidden) {
  const at::Tensor x = state.mlp.input(hidden);
  const at::Tensor normed = rms_norm(x, *parameters_.ffn_norm, shape_.norm_epsilon, later);
  return state.mlp.output(
      swiglu_feed_forward(normed, *parameters_.gate_up, *parameters_.down, {x.size(0)}, x, later));
}

at::Tensor LayerRunner::shared_expert_forward(State& state, const PutOff& later) {
  const at::Tensor x = state.shared_expert.input(take(state.normed, "Attention has run"));
  return state.shared_expert.output(swiglu_feed_forward(x, *parameters_.shared_gate_up,
                                                        *parameters_.shared_down, {x.size(0)},
                                                        /*residual=*/{}, later));
}

at::Tensor LayerRunner::merge_forward(State& state) {
  SegmentGraph& graph = state.merge;
  const at::Tensor returned = graph.input(take(state.returned, "Combine is in"));
  const at::Tensor probabilities = graph.input(take(state.probabilities, "Attention has run"));
  const at::Tensor residual = graph.input(take(state.residual, "Attention has run"));
  at::Tensor shared;
  if (shape_.shared_ffn > 0) shared = graph.input(take(state.shared, "SharedExpert has run"));
  return graph.output(merge(returned, probabilities, residual, shared, state.routing));
}

at::Tensor LayerRunner::forward(const Segment& segment, const RotaryTable& table, double aux_scale,
                                at::Tensor& hidden) {
  Entry& entry = segment.kind == SegmentKind::Attention ? states_[segment.micro_batch]
                                                        : entry_of(segment.micro_batch);
  State& state = entry.state;
  const PutOff later = put_off(segment);
  switch (segment.kind) {
    case SegmentKind::Attention:
      return attention_forward(entry, table, aux_scale, later, hidden);
    case SegmentKind::Mlp:
      hidden = mlp_forward(state, later, take(hidden, "Attention has run"));
      if (!at::GradMode::is_enabled()) finish(segment.micro_batch);
      return {};
    case SegmentKind::SharedExpert:
      state.shared = shared_expert_forward(state, later);
      return {};
    case SegmentKind::Experts:
      entry.sources[WireKind::Combine] = state.experts.output(expert_feed_forward(
          state.experts.input(take(state.received, "Dispatch is in")), *parameters_.expert_gate_up,
          *parameters_.expert_down, state.received_counts, later));
      return {};
    case SegmentKind::Merge:
      hidden = merge_forward(state);
      if (!at::GradMode::is_enabled()) finish(segment.micro_batch);
      return {};
    case SegmentKind::Embedding:
    case SegmentKind::Head:
    case SegmentKind::MtpProjection:
    case SegmentKind::MtpHead:
    case SegmentKind::Identity:
      break;
  }
  throw InternalError("a decoder layer has no such segment");
}

at::Tensor LayerRunner::attention_dgrad(State& state, at::Tensor& gradient) {
  if (kind_ == LayerKind::Dense) {
    return state.attention.backward({take(gradient, "Mlp's dgrad has run")})[0];
  }
  Tensors gradients{take(state.d_permuted, "DispatchBackward is in"),
                    take(state.d_probabilities, "Merge's dgrad has run"),
                    take(state.d_residual, "Merge's dgrad has run")};
  if (shape_.shared_ffn > 0) {
    gradients.push_back(take(state.d_normed, "SharedExpert's dgrad has run"));
  }
  return state.attention.backward(std::move(gradients))[0];
}

void LayerRunner::dgrad(const Segment& segment, at::Tensor& gradient) {
  Entry& entry = entry_of(segment.micro_batch);
  State& state = entry.state;
  switch (segment.kind) {
    case SegmentKind::Attention:
      gradient = attention_dgrad(state, gradient);
      finish(segment.micro_batch);
      return;
    case SegmentKind::Mlp:
      gradient = state.mlp.backward({take(gradient, "the gradient of the output")})[0];
      return;
    case SegmentKind::SharedExpert:
      state.d_normed =
          state.shared_expert.backward({take(state.d_shared, "Merge's dgrad has run")})[0];
      return;
    case SegmentKind::Experts:
      entry.sources[WireKind::DispatchBackward] =
          state.experts.backward({take(state.d_experts, "CombineBackward is in")})[0];
      return;
    case SegmentKind::Merge: {
      Tensors gradients = state.merge.backward({take(gradient, "the gradient of the output")});
      entry.sources[WireKind::CombineBackward] = std::move(gradients[0]);
      state.d_probabilities = std::move(gradients[1]);
      state.d_residual = std::move(gradients[2]);
      if (shape_.shared_ffn > 0) state.d_shared = std::move(gradients[3]);
      return;
    }
    case SegmentKind::Embedding:
    case SegmentKind::Head:
    case SegmentKind::MtpProjection:
    case SegmentKind::MtpHead:
    case SegmentKind::Identity:
      break;
  }
  throw InternalError("a decoder layer has no such segment");
}

at::Tensor LayerRunner::source(const Wire& wire) const {
  const auto& sources = entry_of(wire.micro_batch).sources;
  const auto found = sources.find(wire.kind);
  weft_assert(found != sources.end(), "a wire's source is there from its segment to its release");
  return found->second;
}

Splits LayerRunner::splits(const Wire& wire) const {
  const auto ranks = static_cast<std::size_t>(shard_.size);
  if (wire.kind == WireKind::Counts) {
    const std::vector<std::int64_t> even(ranks, shape_.experts / shard_.size);
    return {even, even};
  }
  const Splits& dispatch = entry_of(wire.micro_batch).state.dispatch;
  weft_assert(dispatch.input.size() == ranks, "Counts is in before rows are exchanged");
  const bool outward = wire.kind == WireKind::Dispatch || wire.kind == WireKind::CombineBackward;
  return outward ? dispatch : reversed(dispatch);
}

void LayerRunner::deliver_counts(State& state, const at::Tensor& received) {
  state.received_counts = to_host(received);
  state.dispatch.input = rows_per_rank(to_host(state.routing.counts), shard_.size);
  state.dispatch.output = rows_per_rank(state.received_counts, shard_.size);
}

void LayerRunner::deliver(const Wire& wire, at::Tensor tensor) {
  State& state = entry_of(wire.micro_batch).state;
  switch (wire.kind) {
    case WireKind::Counts:
      return deliver_counts(state, tensor);
    case WireKind::Dispatch:
      state.received = std::move(tensor);
      return;
    case WireKind::Combine:
      state.returned = std::move(tensor);
      return;
    case WireKind::CombineBackward:
      state.d_experts = std::move(tensor);
      return;
    case WireKind::DispatchBackward:
      state.d_permuted = std::move(tensor);
      return;
    case WireKind::SendForward:
    case WireKind::RecvForward:
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      break;
  }
  throw InternalError("only Counts and all-to-all wires deliver to a layer");
}

void LayerRunner::release(const Wire& wire) {
  const auto found = states_.find(wire.micro_batch);
  weft_assert(found != states_.end(), "a wire is released once");
  Entry& entry = found->second;
  weft_assert(entry.sources.erase(wire.kind) == 1, "a wire is released once");
  if (entry.done && entry.sources.empty()) states_.erase(found);
}

LayerRunner::Entry& LayerRunner::entry_of(MicroBatch micro_batch) {
  const auto found = states_.find(micro_batch);
  weft_assert(found != states_.end(), "a layer's micro-batch starts with Attention");
  return found->second;
}

const LayerRunner::Entry& LayerRunner::entry_of(MicroBatch micro_batch) const {
  const auto found = states_.find(micro_batch);
  weft_assert(found != states_.end(), "a layer's micro-batch starts with Attention");
  return found->second;
}

void LayerRunner::finish(MicroBatch micro_batch) {
  Entry& entry = entry_of(micro_batch);
  entry.state = State();
  entry.done = true;
  if (entry.sources.empty()) states_.erase(micro_batch);
}

}  // namespace weft
