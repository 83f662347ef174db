#include "costs/costs.h"

namespace weft {
namespace {

// Round figures for one core and a modest network. Only ratios matter to weave: a wire that is
// taken to be longer than it is gets more compute above it, which does no harm.
constexpr double kFlopsPerMs = 100e9 / 1e3;       // FP32 matrix products
constexpr double kMemoryBytesPerMs = 10e9 / 1e3;  // element-wise work
constexpr double kWireBytesPerMs = 100e6 / 1e3;
constexpr double kWireLatencyMs = 0.2;
constexpr double kOverheadMs = 0.05;  // of a segment that runs any operation
constexpr double kBytesPerElement = 4;

// Sizes with the defaults of cli.md filled in. T tokens of a micro-batch.
struct Sizes {
  double tokens, hidden, query, key_value, sequence, ffn, experts, topk, expert_ffn, shared_ffn;
  double vocabulary;
};

Sizes sizes_of(const ModelConfig& model, int micro_batch_size) {
  const int heads = model.num_attention_heads > 0 ? model.num_attention_heads : 1;
  const int groups = model.num_query_groups > 0 ? model.num_query_groups : heads;
  const double head_size =
      model.kv_channels > 0 ? model.kv_channels : static_cast<double>(model.hidden_size) / heads;
  const double ffn = model.ffn_hidden_size > 0 ? model.ffn_hidden_size : 4.0 * model.hidden_size;
  return {.tokens = static_cast<double>(micro_batch_size) * model.seq_length,
          .hidden = static_cast<double>(model.hidden_size),
          .query = heads * head_size,
          .key_value = 2 * groups * head_size,
          .sequence = static_cast<double>(model.seq_length),
          .ffn = ffn,
          .experts = static_cast<double>(model.num_experts),
          .topk = static_cast<double>(model.moe_router_topk),
          .expert_ffn = model.moe_ffn_hidden_size > 0 ? model.moe_ffn_hidden_size : ffn,
          .shared_ffn = static_cast<double>(model.moe_shared_expert_intermediate_size),
          .vocabulary = static_cast<double>(model.vocab_size)};
}

double product_ms(double rows, double in, double out) { return 2 * rows * in * out / kFlopsPerMs; }

double memory_ms(double elements) { return elements * kBytesPerElement / kMemoryBytesPerMs; }

double wire_ms(double elements) {
  return kWireLatencyMs + elements * kBytesPerElement / kWireBytesPerMs;
}

// A segment of linear layers: dgrad and wgrad cost a forward each; `core` is work without weights
// (attention scores, element-wise), which has no wgrad and about twice the work in dgrad.
SegmentCost segment_cost(double linear_ms, double core_ms) {
  return {kOverheadMs + linear_ms + core_ms, kOverheadMs + linear_ms + 2 * core_ms,
          linear_ms > 0 ? kOverheadMs + linear_ms : 0};
}

// SwiGLU: gate and up projection, down projection.
SegmentCost feed_forward_cost(double rows, double hidden, double width) {
  return segment_cost(3 * product_ms(rows, hidden, width), memory_ms(rows * (3 * width + hidden)));
}

SegmentCost attention_cost(const Sizes& s, bool moe) {
  double linear = product_ms(s.tokens, s.hidden, s.query + s.key_value) +
                  product_ms(s.tokens, s.query, s.hidden);
  // Scores and values, half of them masked; norm, rotation and residual.
  double core = product_ms(s.tokens, s.query, s.sequence) +
                memory_ms(s.tokens * (6 * s.hidden + 2 * (s.query + s.key_value)));
  if (moe) {
    linear += product_ms(s.tokens, s.hidden, s.experts);
    core += memory_ms(s.tokens * (3 + 2 * s.topk) * s.hidden);
  }
  return segment_cost(linear, core);
}

// Elements of a layer's gradients that a rank sends when each replica sums a share of them: experts
// over the ranks that hold the same ones, the rest over all.
double reduced_elements(const Sizes& s, double replicas, double expert_ranks) {
  const auto sent = [](double elements, double group) {
    return group > 1 ? elements * (group - 1) / group : 0;
  };
  const double feed_forward = s.experts > 0 ? s.shared_ffn : s.ffn;
  const double dense = s.hidden * (2 * s.query + s.key_value + 3 * feed_forward);
  const double experts = 3 * s.hidden * s.experts / expert_ranks * s.expert_ffn;
  return sent(dense, replicas) + sent(experts, replicas / expert_ranks);
}

}  // namespace

Costs estimate_costs(const ModelConfig& model, const ParallelConfig& parallel,
                     int micro_batch_size) {
  if (model.hidden_size <= 0 || model.seq_length <= 0) return default_costs();
  const Sizes s = sizes_of(model, micro_batch_size);
  const double rows = s.tokens * s.topk;  // received by a rank's experts when routing is even
  Costs costs;
  costs.unit = "ms";
  costs.segments = {
      {{SegmentKind::Embedding, false},
       {kOverheadMs + memory_ms(s.tokens * s.hidden), 0,
        kOverheadMs + memory_ms(2 * s.tokens * s.hidden)}},
      {{SegmentKind::Attention, false}, attention_cost(s, false)},
      {{SegmentKind::Attention, true}, attention_cost(s, true)},
      {{SegmentKind::Mlp, false}, feed_forward_cost(s.tokens, s.hidden, s.ffn)},
      {{SegmentKind::SharedExpert, true}, feed_forward_cost(s.tokens, s.hidden, s.shared_ffn)},
      {{SegmentKind::Experts, true}, feed_forward_cost(rows, s.hidden, s.expert_ffn)},
      {{SegmentKind::Merge, true}, segment_cost(0, memory_ms((2 * rows + s.tokens) * s.hidden))},
      {{SegmentKind::Head, false},
       segment_cost(product_ms(s.tokens, s.hidden, s.vocabulary),
                    memory_ms(4 * s.tokens * s.vocabulary))},
      {{SegmentKind::Identity, false}, {0, 0, 0}},
  };
  const double group = parallel.expert_model_parallel_size;
  const bool local = group <= 1;  // an exchange with oneself is a copy
  const double exchange =
      local ? memory_ms(2 * rows * s.hidden) : wire_ms(rows * s.hidden * (group - 1) / group);
  for (const WireKind kind : {WireKind::Dispatch, WireKind::Combine, WireKind::CombineBackward,
                              WireKind::DispatchBackward}) {
    costs.wires[kind] = exchange;
  }
  costs.wires[WireKind::Counts] = local ? 0 : kWireLatencyMs;
  for (const WireKind kind : {WireKind::SendForward, WireKind::RecvForward, WireKind::SendBackward,
                              WireKind::RecvBackward}) {
    costs.wires[kind] = wire_ms(s.tokens * s.hidden);
  }
  const double replicas = parallel.data_parallel_size.value_or(parallel.expert_model_parallel_size);
  for (const WireKind kind : {WireKind::ReduceGrad, WireKind::GatherGrad}) {
    costs.wires[kind] = replicas > 1 ? wire_ms(reduced_elements(s, replicas, group)) : 0;
  }
  return costs;
}

}  // namespace weft
