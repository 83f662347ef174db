#include "estimate/model_bytes.h"

#include <algorithm>
#include <random>

#include "estimate/models.h"
#include "passes/live.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::dense_config;
using testing::layout_over;
using testing::moe_config;

ActivationTable table_of(const Config& config) {
  return activation_table(model_sizes(config), 4, {4, 4}, 1);
}

std::int64_t peak_of(const std::vector<Held>& held) {
  std::int64_t peak = 0;
  for (const Held& cell : held) peak = std::max({peak, cell.bytes, cell.bytes_after});
  return peak;
}

// By the table of activation_bytes.h, 4 tokens, a hidden of 128 bytes: embedding, attention 688,
// feed-forward 560 and head 320 are kept to the I; to the W 128 of the embedding, 384 + 256 of
// attention's products, 2 * 128 + 3 * 96 of the feed-forward's, 128 + 160 of the head's.
TEST(ModelStageBytes, OfADenseModelByArithmetic) {
  const std::vector<KeptBytes> stages = model_stage_bytes(layout_over(dense_config(1), 1),
                                                          table_of(dense_config(1)));
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0].activation, 128 + 688 + 560 + 320);
  EXPECT_EQ(stages[0].wgrad, 128 + 640 + 544 + 288);
  EXPECT_EQ(stages[0].forward, 160);   // logits in the main type, for the loss
  EXPECT_EQ(stages[0].backward, 512);  // the norm's backward in the head
  EXPECT_EQ(stages[0].dgrad, 512);
}

// What a stage sends is its neighbour's: both stages together keep what one alone does.
TEST(ModelStageBytes, OfACutModelAddUp) {
  for (const Config& config : {dense_config(2), moe_config(2)}) {
    const std::vector<KeptBytes> one = model_stage_bytes(layout_over(config, 1), table_of(config));
    const std::vector<KeptBytes> two = model_stage_bytes(layout_over(config, 2), table_of(config));
    EXPECT_EQ(two.at(0).activation + two.at(1).activation, one.at(0).activation);
    EXPECT_EQ(two.at(0).wgrad + two.at(1).wgrad, one.at(0).wgrad);
  }
}

// On one rank nothing is under way between stages: the peak of the steps is that of the cells.
TEST(ModelStageBytes, GiveTheCellsThePeakOfTheSteps) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const StageMap map{.num_ranks = 1};
    Config config = moe_config(1);
    if (seed % 2 == 0) config.model.moe_shared_expert_intermediate_size = 5;
    Layout layout = testing::random_layout(map, random);
    layout.shared_expert = config.model.moe_shared_expert_intermediate_size > 0;
    const ActivationTable table = table_of(config);
    const char* const names[] = {"gpipe", "1f1b", "zb-h1", "no-pipeline"};
    const Schedule schedule = build_schedule(
        names[random() % 4], {.num_ranks = 1, .num_micro_batches = 1 + int(random() % 4)});
    const PlanHeld cells = held_by_cell(schedule, model_stage_bytes(layout, table));
    const StepPlan plan = lower(schedule, layout, default_costs(), {});
    EXPECT_EQ(peak_of(cells[0]), count_activations(plan, table)[0].peak);
  }
}

// Between ranks what is received early and sent late comes on top: a few hand-overs.
TEST(ModelStageBytes, AreNearThePeakOfTheStepsOnManyRanks) {
  const Config config = moe_config(8);
  const ActivationTable table = table_of(config);
  for (const char* name : {"gpipe", "1f1b", "zb-h1"}) {
    const Schedule schedule = build_schedule(name, {.num_ranks = 4, .num_micro_batches = 8});
    const Layout layout = layout_over(config, 4);
    const PlanHeld cells = held_by_cell(schedule, model_stage_bytes(layout, table));
    const auto steps = count_activations(lower(schedule, layout, default_costs(), {}), table);
    for (std::size_t r = 0; r < steps.size(); ++r) {
      EXPECT_GE(steps[r].peak, peak_of(cells[r])) << name << " rank " << r;
      EXPECT_LE(steps[r].peak, peak_of(cells[r]) + 4 * table.hidden) << name << " rank " << r;
    }
  }
}

}  // namespace
}  // namespace weft
