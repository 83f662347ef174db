#include "estimate/traffic.h"

#include "estimate/models.h"
#include "plan/run_plan.h"

namespace weft {
namespace {

using testing::moe_config;

// Two pipeline ranks of one MoE layer each, two data parallel ranks that share the experts; 3
// micro-batches of 4 tokens.
std::vector<RankTraffic> traffic_of_two_ranks() {
  Config config = moe_config(2);
  config.parallel.pipeline_model_parallel_size = 2;
  config.parallel.expert_model_parallel_size = 2;
  config.schedule.num_microbatches = 3;
  config = resolved(config, {});
  const RunPlan plan = make_step_plan(config);
  const ModelSizes sizes = model_sizes(config);
  const ActivationTable table = activation_table(sizes, 4, {4, 4}, 2);
  return count_traffic(plan.steps, plan.layout, plan.mesh, sizes, table, {4, 4});
}

// A hidden is 128 bytes; 8 rows of 32 bytes, half of which leave.
TEST(Traffic, ByArithmetic) {
  const std::vector<RankTraffic> ranks = traffic_of_two_ranks();
  for (const RankTraffic& rank : ranks) {
    EXPECT_EQ(rank.at(WireKind::Dispatch), (WireTraffic{3, 3 * 128}));
    EXPECT_EQ(rank.at(WireKind::CombineBackward), (WireTraffic{3, 3 * 128}));
    EXPECT_EQ(rank.at(WireKind::Counts), (WireTraffic{3, 3 * 2 * 8}));
    EXPECT_FALSE(rank.contains(WireKind::RecvForward));
  }
  EXPECT_EQ(ranks[0].at(WireKind::SendForward), (WireTraffic{3, 3 * 128}));
  EXPECT_FALSE(ranks[0].contains(WireKind::SendBackward));
  EXPECT_EQ(ranks[1].at(WireKind::SendBackward), (WireTraffic{3, 3 * 128}));
}

// Gradients of a rank: embedding or norm and head, and a layer; without experts' they are summed
// over both ranks, experts' are held once. Two exchanges of half of them, in FP32.
TEST(Traffic, OfGradientsByArithmetic) {
  const std::vector<RankTraffic> ranks = traffic_of_two_ranks();
  const std::int64_t layer = 192 + 16 + 32;
  EXPECT_EQ(ranks[0].at(WireKind::ReduceGrad), (WireTraffic{2, (80 + layer) / 2 * 4}));
  EXPECT_EQ(ranks[1].at(WireKind::GatherGrad), (WireTraffic{2, (88 + layer) / 2 * 4}));
}

// `E|m|L`: what leaves stage 1 is two hidden states, what comes back to it two gradients.
TEST(Traffic, OfMtpLayersByArithmetic) {
  Config config = moe_config(1);
  config.model.mtp_num_layers = 1;
  config.schedule.pipeline_model_parallel_layout = "Et|m|L";
  config.parallel.pipeline_model_parallel_size = 3;
  config.schedule.num_microbatches = 3;
  config = resolved(config, {});
  const RunPlan plan = make_step_plan(config);
  const ModelSizes sizes = model_sizes(config);
  const std::vector<RankTraffic> ranks = count_traffic(
      plan.steps, plan.layout, plan.mesh, sizes, activation_table(sizes, 4, {4, 4}, 1), {4, 4});
  EXPECT_EQ(ranks[0].at(WireKind::SendForward), (WireTraffic{3, 3 * 128}));
  EXPECT_EQ(ranks[1].at(WireKind::SendForward), (WireTraffic{3, 3 * 2 * 128}));
  EXPECT_EQ(ranks[2].at(WireKind::SendBackward), (WireTraffic{3, 3 * 2 * 128}));
  EXPECT_EQ(ranks[1].at(WireKind::SendBackward), (WireTraffic{3, 3 * 128}));
  EXPECT_EQ(ranks[1].at(WireKind::Dispatch).wires, 3);
}

TEST(Traffic, AnExchangeOfASumMovesAShareOfEach) {
  EXPECT_EQ(share_bytes(100, 1, 4), 0);
  EXPECT_EQ(share_bytes(100, 4, 4), 3 * 25 * 4);
  EXPECT_EQ(share_bytes(101, 4, 4), 3 * 26 * 4);  // padded to whole shares
}

}  // namespace
}  // namespace weft
