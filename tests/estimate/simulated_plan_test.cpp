#include "estimate/simulated_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "estimate/models.h"
#include "estimate/plan_estimate.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::int64_t peak_of(const RankTimeline& rank) {
  std::int64_t peak = 0;
  for (const MemorySample& sample : rank.memory) peak = std::max(peak, sample.bytes);
  return peak;
}

std::string findings(const std::function<SimulatedPlan()>& simulate) {
  try {
    simulate();
  } catch (const PlanError& error) {
    std::string text;
    for (const Finding& finding : error.findings()) text += finding.message + "\n";
    return text;
  }
  return "";
}

Config resolved_config(const std::vector<std::string>& words) {
  return testing::plan_config(words);
}

const std::vector<std::string> kTwoRanks = {"--num-layers",
                                            "4",
                                            "--hidden-size",
                                            "8",
                                            "--num-attention-heads",
                                            "2",
                                            "--seq-length",
                                            "4",
                                            "--vocab-size",
                                            "10",
                                            "--num-experts",
                                            "4",
                                            "--moe-ffn-hidden-size",
                                            "3",
                                            "--pipeline-model-parallel-size",
                                            "2",
                                            "--num-microbatches",
                                            "4"};

Schedule one_f_one_b(const Config& config) { return make_schedule(config, Costs{}); }

TEST(SimulatedPlan, KnowsNoBytesWithoutCostsAndModel) {
  Config config = resolved_config(kTwoRanks);
  config.model.hidden_size = 0;
  const SimulatedPlan plan = simulate_plan(config, one_f_one_b(config), Costs{}, "compute");
  EXPECT_FALSE(plan.bytes_known);
  EXPECT_TRUE(plan.timeline.ranks[0].memory.empty());
}

// The table of the costs beats the model.
TEST(SimulatedPlan, TakesBytesFromTheCosts) {
  const Config config = resolved_config(kTwoRanks);
  Costs costs;
  costs.bytes.stage = KeptBytes{.activation = 10};
  costs.bytes.stages[1] = {.activation = 7};
  for (const char* level : {"compute", "transfers", "steps"}) {
    const SimulatedPlan plan = simulate_plan(config, one_f_one_b(config), costs, level);
    EXPECT_TRUE(plan.bytes_known);
    EXPECT_EQ(peak_of(plan.timeline.ranks[0]), 2 * 10) << level;
    EXPECT_EQ(peak_of(plan.timeline.ranks[1]), 1 * 7) << level;
  }
}

// At the steps level the model's bytes are those that `weft plan` reports.
TEST(SimulatedPlan, TakesBytesFromTheModel) {
  const Config config = resolved_config(kTwoRanks);
  const SimulatedPlan steps =
      simulate_plan(config, one_f_one_b(config), step_costs(config), "steps");
  const PlanEstimate estimate = estimate_plan(config);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(peak_of(steps.timeline.ranks[r]), estimate.activations[r].peak);
    EXPECT_EQ(steps.timeline.ranks[r].memory.back().bytes, 0);
  }
  const SimulatedPlan cells = simulate_plan(config, one_f_one_b(config), Costs{}, "compute");
  EXPECT_TRUE(cells.bytes_known);
  EXPECT_GT(peak_of(cells.timeline.ranks[0]), peak_of(cells.timeline.ranks[1]));
}

TEST(SimulatedPlan, IsHeldToItsLimitsAtEveryLevel) {
  Config config = resolved_config(kTwoRanks);
  const Schedule schedule = one_f_one_b(config);
  Costs costs;
  costs.bytes.stage = KeptBytes{.activation = 10};
  config.schedule.max_activation_bytes = 19;
  EXPECT_THAT(findings([&] { return simulate_plan(config, schedule, costs, "compute"); }),
              StartsWith("rank 0 cell 2 (0F1) at 1.0: 20 bytes, the limit is 19; the rank's peak "
                         "is 20\n"));
  EXPECT_THAT(findings([&] { return simulate_plan(config, schedule, costs, "transfers"); }),
              AllOf(HasSubstr("(0F1) at 1.0: 20 bytes, the limit is 19"), HasSubstr("0SEND_F1"),
                    HasSubstr("[0F1]a")));
  EXPECT_THAT(findings([&] { return simulate_plan(config, schedule, costs, "steps"); }),
              AllOf(HasSubstr("rank 0 step "), HasSubstr("(0F1:embedding) at "),
                    HasSubstr("20 bytes, the limit is 19"), HasSubstr("[0F1:embedding]a")));
  config.schedule.max_activation_bytes = 20;
  EXPECT_EQ(findings([&] { return simulate_plan(config, schedule, costs, "compute"); }), "");
  config.schedule.max_live_chunks = 1;
  EXPECT_THAT(findings([&] { return simulate_plan(config, schedule, costs, "steps"); }),
              HasSubstr("2 live chunks, the limit is 1"));
}

TEST(SimulatedPlan, ALimitOfBytesNeedsBytes) {
  Config config = resolved_config(kTwoRanks);
  config.model.hidden_size = 0;
  config.schedule.max_activation_bytes = 100;
  EXPECT_THROW(simulate_plan(config, one_f_one_b(config), Costs{}, "compute"), UserError);
  EXPECT_THROW(simulate_plan(config, one_f_one_b(config), Costs{}, "steps"), UserError);
}

}  // namespace
}  // namespace weft
