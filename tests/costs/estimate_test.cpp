#include <gtest/gtest.h>

#include "base/error.h"
#include "costs/costs.h"

namespace weft {
namespace {

ModelConfig small_model() {
  ModelConfig model;
  model.num_layers = 8;
  model.hidden_size = 256;
  model.ffn_hidden_size = 1024;
  model.num_attention_heads = 4;
  model.seq_length = 128;
  model.vocab_size = 256;
  model.num_experts = 8;
  model.moe_router_topk = 2;
  model.moe_ffn_hidden_size = 512;
  return model;
}

ParallelConfig two_by_two() {
  ParallelConfig parallel;
  parallel.pipeline_model_parallel_size = 2;
  parallel.expert_model_parallel_size = 2;
  return parallel;
}

TEST(EstimateCosts, UnknownSizesGiveTheDefaultTable) {
  EXPECT_EQ(estimate_costs(ModelConfig{}, two_by_two()), default_costs());
}

// 128 tokens, top-2, 256 numbers of 4 bytes, half of which leave the rank: 131072 bytes at 100 MB/s
// are 1.31072 ms, and 0.2 ms of latency.
TEST(EstimateCosts, AllToAllByArithmetic) {
  const Costs costs = estimate_costs(small_model(), two_by_two());
  EXPECT_EQ(costs.unit, "ms");
  EXPECT_NEAR(costs.of_wire(WireKind::Dispatch), 1.51072, 1e-9);
  EXPECT_EQ(costs.of_wire(WireKind::Dispatch), costs.of_wire(WireKind::CombineBackward));
  EXPECT_NEAR(costs.of_wire(WireKind::SendForward), 1.31072 + 0.2, 1e-9);
}

// An expert's three products over 256 rows: 3 * 2 * 256 * 256 * 512 FLOPs at 100 GFLOP/s are
// 2.01326592 ms, which is what W takes beyond 0.05 ms of overhead.
TEST(EstimateCosts, ExpertsByArithmetic) {
  const SegmentCost experts =
      estimate_costs(small_model(), two_by_two()).of_segment({SegmentKind::Experts, true});
  EXPECT_NEAR(experts.wgrad, 2.01326592 + 0.05, 1e-9);
  EXPECT_GT(experts.forward, experts.wgrad);
  EXPECT_GT(experts.dgrad, experts.forward);
}

// The projection of an MTP layer multiplies 128 rows by 512 x 256: 2 * 128 * 512 * 256 FLOPs are
// 0.33554432 ms; its head is the model's.
TEST(EstimateCosts, MtpLayersByArithmetic) {
  const Costs costs = estimate_costs(small_model(), two_by_two());
  EXPECT_NEAR(costs.of_segment({SegmentKind::MtpProjection, false}).wgrad, 0.33554432 + 0.05, 1e-9);
  EXPECT_EQ(costs.of_segment({SegmentKind::MtpHead, false}),
            costs.of_segment({SegmentKind::Head, false}));
}

// Latent attention of DeepSeek-V2-Lite: 13,762,560 weights (flops_test.cpp). Scores and values take
// half of 4096 tokens on 16 * (192 + 128) channels; the products put out 16 * 192, 576 and 16 *
// 256.
TEST(EstimateCosts, LatentAttentionByArithmetic) {
  ModelConfig model = small_model();
  model.hidden_size = 2048;
  model.num_attention_heads = 16;
  model.seq_length = 4096;
  ModelExtras extras;
  extras.kv_lora_rank = 512;
  extras.qk_nope_head_dim = 128;
  extras.qk_rope_head_dim = 64;
  extras.v_head_dim = 128;
  const SegmentCost cost = estimate_costs(model, two_by_two(), {}, 1, 4, extras)
                               .of_segment({SegmentKind::Attention, false});
  const double products = 2.0 * 4096 * 13'762'560 / 100e6;
  const double scores = 2.0 * 4096 * 16 * (192 + 128) * 2048 / 100e6;
  const double moved = 4096.0 * (6 * 2048 + 2 * (16 * 192 + 576 + 16 * 256)) * 4 / 10e6;
  EXPECT_NEAR(cost.wgrad, products + 0.05, 1e-6);
  EXPECT_NEAR(cost.forward, products + scores + moved + 0.05, 1e-6);
}

TEST(EstimateCosts, OneExpertRankCopiesLocally) {
  ParallelConfig parallel = two_by_two();
  const double wire = estimate_costs(small_model(), parallel).of_wire(WireKind::Dispatch);
  parallel.expert_model_parallel_size = 1;
  EXPECT_LT(estimate_costs(small_model(), parallel).of_wire(WireKind::Dispatch), wire / 10);
}

TEST(EstimateCosts, GrowWithTheMicroBatch) {
  const Costs one = estimate_costs(small_model(), two_by_two(), {}, 1);
  const Costs four = estimate_costs(small_model(), two_by_two(), {}, 4);
  for (const auto& [key, cost] : one.segments) {
    if (key.kind == SegmentKind::Identity) continue;
    EXPECT_GT(four.segments.at(key).forward, cost.forward) << name_of(key);
  }
  EXPECT_GT(four.of_wire(WireKind::Combine), one.of_wire(WireKind::Combine));
}

// A device ten times as fast as the default, links of 1, 2 and 4 GB/s, elements of 2 bytes.
Rates fast_rates() {
  return {.tflops = 1,
          .memory_gb_per_s = 100,
          .overhead_us = 5,
          .expert = {.gb_per_s = 1, .latency_us = 20},
          .pipeline = {.gb_per_s = 2, .latency_us = 10},
          .data = {.gb_per_s = 4, .latency_us = 40}};
}

// Dispatch: 128 * 2 * 256 / 2 elements = 65536 bytes at 1 GB/s are 0.065536 ms; a hand-over: 128 *
// 256 * 2 bytes at 2 GB/s are 0.032768 ms. Of a layer the two replicas sum half the gradients of
// attention (256 * (2 * 256 + 2 * 256) elements, FP32) and none of the experts: 524288 bytes at
// 4 GB/s are 0.131072 ms. An expert's W: 0.201326592 ms.
TEST(EstimateCosts, RatesByArithmetic) {
  ParallelConfig parallel = two_by_two();
  parallel.data_parallel_size = 2;
  const Costs costs = estimate_costs(small_model(), parallel, fast_rates(), 1, 2);
  EXPECT_NEAR(costs.of_wire(WireKind::Counts), 0.020, 1e-12);
  EXPECT_NEAR(costs.of_wire(WireKind::Dispatch), 0.020 + 0.065536, 1e-12);
  EXPECT_NEAR(costs.of_wire(WireKind::RecvBackward), 0.010 + 0.032768, 1e-12);
  EXPECT_NEAR(costs.of_wire(WireKind::ReduceGrad), 0.040 + 0.131072, 1e-12);
  EXPECT_NEAR(costs.of_segment({SegmentKind::Experts, true}).wgrad, 0.005 + 0.201326592, 1e-12);
}

// What a file names is kept, the rest follows from its rates.
TEST(WithSizes, FillsWhatIsNotNamed) {
  Costs read;
  read.rates = fast_rates();
  read.wires[WireKind::Dispatch] = 7;
  const Costs costs = with_sizes(read, small_model(), two_by_two(), 1, 2);
  EXPECT_EQ(costs.of_wire(WireKind::Dispatch), 7);
  EXPECT_NEAR(costs.of_wire(WireKind::Combine), 0.020 + 0.065536, 1e-12);
  EXPECT_NEAR(costs.of_segment({SegmentKind::Experts, true}).wgrad, 0.005 + 0.201326592, 1e-12);
  EXPECT_FALSE(costs.rates.has_value());

  read.segments[{SegmentKind::Experts, true}] = {3, 3, 3};
  EXPECT_EQ(with_sizes(read, small_model(), two_by_two(), 1, 2).segments, read.segments);
}

TEST(WithSizes, LeavesCostsWithoutRatesAlone) {
  EXPECT_EQ(with_sizes(default_costs(), ModelConfig{}, two_by_two(), 1, 4), default_costs());
}

TEST(WithSizes, RatesNeedSizes) {
  Costs read;
  read.rates = fast_rates();
  EXPECT_THROW(with_sizes(read, ModelConfig{}, two_by_two(), 1, 4), UserError);
}

}  // namespace
}  // namespace weft
