#include <utility>

#include "base/error.h"
#include "config/attention_shape.h"
#include "config/derive.h"
#include "costs/costs.h"

namespace weft {
namespace {

constexpr double kGradientBytes = 4;  // main gradients are FP32

// Sizes with defaults filled in, and what turns them into ms. `tokens` of a micro-batch.
struct Sizes {
  Rates rates;
  double element_bytes;
  double tokens, hidden, sequence, ffn, experts, topk, expert_ffn, shared_ffn, vocabulary;
  double attention_weights;   // of all its products
  double attention_channels;  // that they put out, o apart
  double scored_channels;     // of a query and a value, over all heads
};

ModelConfig with_heads(ModelConfig model) {
  if (model.num_attention_heads <= 0) model.num_attention_heads = 1;
  return model;
}

Sizes sizes_of(const ModelConfig& model, int micro_batch_size, const Rates& rates,
               int element_bytes, const ModelExtras& extras) {
  const ModelConfig derived = with_derived_sizes(with_heads(model));
  const AttentionShape shape = attention_shape(derived, extras);
  double weights = 0, channels = -static_cast<double>(model.hidden_size);
  for (const LinearSize& product : attention_products(shape)) {
    weights += static_cast<double>(product.in * product.out);
    channels += static_cast<double>(product.out);
  }
  const double ffn = derived.ffn_hidden_size;
  return {
      .rates = rates,
      .element_bytes = static_cast<double>(element_bytes),
      .tokens = static_cast<double>(micro_batch_size) * model.seq_length,
      .hidden = static_cast<double>(model.hidden_size),
      .sequence = static_cast<double>(model.seq_length),
      .ffn = ffn,
      .experts = static_cast<double>(model.num_experts),
      .topk = static_cast<double>(model.moe_router_topk),
      .expert_ffn = model.moe_ffn_hidden_size > 0 ? model.moe_ffn_hidden_size : ffn,
      .shared_ffn = static_cast<double>(model.moe_shared_expert_intermediate_size),
      .vocabulary = static_cast<double>(model.vocab_size),
      .attention_weights = weights,
      .attention_channels = channels,
      .scored_channels = static_cast<double>(shape.heads * (shape.head_size + shape.value_size))};
}

double product_ms(const Sizes& s, double rows, double in, double out) {
  return 2 * rows * in * out / (s.rates.tflops * 1e9);
}

double memory_ms(const Sizes& s, double elements) {
  return elements * s.element_bytes / (s.rates.memory_gb_per_s * 1e6);
}

double latency_ms(const LinkRate& link) { return link.latency_us / 1e3; }

double wire_ms(const LinkRate& link, double bytes) {
  return latency_ms(link) + bytes / (link.gb_per_s * 1e6);
}

// A segment of linear layers: dgrad and wgrad cost a forward each; `core` is work without weights
// (attention scores, element-wise), which has no wgrad and about twice the work in dgrad.
SegmentCost segment_cost(const Sizes& s, double linear_ms, double core_ms) {
  const double overhead = s.rates.overhead_us / 1e3;
  return {overhead + linear_ms + core_ms, overhead + linear_ms + 2 * core_ms,
          linear_ms > 0 ? overhead + linear_ms : 0};
}

// SwiGLU: gate and up projection, down projection.
SegmentCost feed_forward_cost(const Sizes& s, double rows, double width) {
  return segment_cost(s, 3 * product_ms(s, rows, s.hidden, width),
                      memory_ms(s, rows * (3 * width + s.hidden)));
}

SegmentCost attention_cost(const Sizes& s, bool moe) {
  double linear = product_ms(s, s.tokens, s.attention_weights, 1);
  // Scores and values, half of them masked; norms, rotation and residual.
  double core = product_ms(s, s.tokens, s.scored_channels, s.sequence / 2) +
                memory_ms(s, s.tokens * (6 * s.hidden + 2 * s.attention_channels));
  if (moe) {
    linear += product_ms(s, s.tokens, s.hidden, s.experts);
    core += memory_ms(s, s.tokens * (3 + 2 * s.topk) * s.hidden);
  }
  return segment_cost(s, linear, core);
}

SegmentCost head_cost(const Sizes& s) {
  return segment_cost(s, product_ms(s, s.tokens, s.hidden, s.vocabulary),
                      memory_ms(s, 4 * s.tokens * s.vocabulary));
}

// Looked up, normed and joined: 2 reads and 2 writes of two hidden states.
SegmentCost mtp_projection_cost(const Sizes& s) {
  return segment_cost(s, product_ms(s, s.tokens, 2 * s.hidden, s.hidden),
                      memory_ms(s, 8 * s.tokens * s.hidden));
}

// Elements of a layer's gradients that a rank sends when each replica sums a share of them: experts
// over the ranks that hold the same ones, the rest over all.
double reduced_elements(const Sizes& s, double replicas, double expert_ranks) {
  const auto sent = [](double elements, double group) {
    return group > 1 ? elements * (group - 1) / group : 0;
  };
  const double feed_forward = s.experts > 0 ? s.shared_ffn : s.ffn;
  const double dense = s.attention_weights + s.hidden * 3 * feed_forward;
  const double experts = 3 * s.hidden * s.experts / expert_ranks * s.expert_ffn;
  return sent(dense, replicas) + sent(experts, replicas / expert_ranks);
}

}  // namespace

Costs estimate_costs(const ModelConfig& model, const ParallelConfig& parallel, const Rates& rates,
                     int micro_batch_size, int element_bytes, const ModelExtras& extras) {
  if (model.hidden_size <= 0 || model.seq_length <= 0) return default_costs();
  const Sizes s = sizes_of(model, micro_batch_size, rates, element_bytes, extras);
  const double overhead = rates.overhead_us / 1e3;
  const double rows = s.tokens * s.topk;  // received by a rank's experts when routing is even
  Costs costs;
  costs.unit = "ms";
  costs.segments = {
      {{SegmentKind::Embedding, false},
       {overhead + memory_ms(s, s.tokens * s.hidden), 0,
        overhead + memory_ms(s, 2 * s.tokens * s.hidden)}},
      {{SegmentKind::Attention, false}, attention_cost(s, false)},
      {{SegmentKind::Attention, true}, attention_cost(s, true)},
      {{SegmentKind::Mlp, false}, feed_forward_cost(s, s.tokens, s.ffn)},
      {{SegmentKind::SharedExpert, true}, feed_forward_cost(s, s.tokens, s.shared_ffn)},
      {{SegmentKind::Experts, true}, feed_forward_cost(s, rows, s.expert_ffn)},
      {{SegmentKind::Merge, true},
       segment_cost(s, 0, memory_ms(s, (2 * rows + s.tokens) * s.hidden))},
      {{SegmentKind::Head, false}, head_cost(s)},
      {{SegmentKind::MtpProjection, false}, mtp_projection_cost(s)},
      {{SegmentKind::MtpHead, false}, head_cost(s)},
      {{SegmentKind::Identity, false}, {0, 0, 0}},
  };
  const double group = parallel.expert_model_parallel_size;
  const bool local = group <= 1;  // an exchange with oneself is a copy
  const double exchange =
      local ? memory_ms(s, 2 * rows * s.hidden)
            : wire_ms(rates.expert, rows * s.hidden * (group - 1) / group * s.element_bytes);
  for (const WireKind kind : {WireKind::Dispatch, WireKind::Combine, WireKind::CombineBackward,
                              WireKind::DispatchBackward}) {
    costs.wires[kind] = exchange;
  }
  costs.wires[WireKind::Counts] = local ? 0 : latency_ms(rates.expert);
  for (const WireKind kind : {WireKind::SendForward, WireKind::RecvForward, WireKind::SendBackward,
                              WireKind::RecvBackward}) {
    costs.wires[kind] = wire_ms(rates.pipeline, s.tokens * s.hidden * s.element_bytes);
  }
  const double replicas = parallel.data_parallel_size.value_or(parallel.expert_model_parallel_size);
  for (const WireKind kind : {WireKind::ReduceGrad, WireKind::GatherGrad}) {
    costs.wires[kind] =
        replicas > 1 ? wire_ms(rates.data, reduced_elements(s, replicas, group) * kGradientBytes)
                     : 0;
  }
  return costs;
}

Costs with_sizes(Costs costs, const ModelConfig& model, const ParallelConfig& parallel,
                 int micro_batch_size, int element_bytes, const ModelExtras& extras) {
  if (!costs.rates) return costs;
  if (model.hidden_size <= 0 || model.seq_length <= 0) {
    throw UserError({"costs-need-sizes", "--costs with [device] or [links]",
                     "their times follow from the model's sizes: give --hidden-size, --seq-length "
                     "and the rest"});
  }
  Costs estimate =
      estimate_costs(model, parallel, *costs.rates, micro_batch_size, element_bytes, extras);
  if (costs.segments.empty()) costs.segments = std::move(estimate.segments);
  costs.wires.merge(estimate.wires);  // what is there stays
  costs.rates.reset();
  return costs;
}

}  // namespace weft
