#include "estimate/bent_rules.h"

#include <gmock/gmock.h>

#include <sstream>

#include "estimate/models.h"
#include "layout/make_layout.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::plan_request;

std::vector<std::string> bent_by(const std::string& words) {
  std::vector<std::string> all = {"--num-layers",  "8", "--hidden-size",         "8",
                                  "--num-experts", "4", "--num-attention-heads", "2",
                                  "--seq-length",  "4", "--vocab-size",          "10"};
  std::istringstream stream(words);
  for (std::string word; stream >> word;) all.push_back(word);
  const Request request = plan_request(all);
  const Config config = resolved(request.config, testing::facts_of(request));
  const bool v = config.schedule.schedules_method == "dualpipev";
  const Layout layout =
      make_layout(config, make_stage_map(config, v ? Placement::V : Placement::Looped));
  std::vector<std::string> names;
  for (const BentRule& bent : bent_rules(request, config, layout)) names.push_back(bent.rule);
  return names;
}

TEST(BentRules, NoneWhereTheOriginalRunsToo) {
  EXPECT_THAT(bent_by("--pipeline-model-parallel-size 4 --num-microbatches 8"), IsEmpty());
  EXPECT_THAT(bent_by("--pipeline-model-parallel-size 4 --num-microbatches 8 --schedules-method "
                      "dualpipev --untie-embeddings-and-output-weights --moe-fb-overlap "
                      "--expert-model-parallel-size 2 --moe-grouped-gemm"),
              IsEmpty());
}

TEST(BentRules, OfDualPipeV) {
  EXPECT_THAT(bent_by("--schedules-method dualpipev --num-microbatches 4"),
              ElementsAre("dualpipev-one-rank", "dualpipev-untied-embeddings"));
  EXPECT_THAT(bent_by("--schedules-method dualpipev --pipeline-model-parallel-size 3 "
                      "--num-microbatches 4 --untie-embeddings-and-output-weights"),
              ElementsAre("dualpipev-layers", "dualpipev-micro-batches"));
  EXPECT_THAT(bent_by("--schedules-method dualpipev --pipeline-model-parallel-size 2 "
                      "--num-microbatches 4 --untie-embeddings-and-output-weights "
                      "--pipeline-model-parallel-layout Ett|ttt|tt|tL"),
              ElementsAre("dualpipev-layout"));
}

TEST(BentRules, OfTheOverlap) {
  const std::string interleaved =
      "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --moe-fb-overlap ";
  EXPECT_THAT(bent_by(interleaved + "--num-microbatches 4"),
              ElementsAre("overlap-grouped-gemm", "overlap-expert-ranks"));
  EXPECT_THAT(bent_by(interleaved + "--num-microbatches 3 --moe-grouped-gemm --noop-layers 5 "
                                    "--expert-model-parallel-size 2"),
              ElementsAre("overlap-micro-batches", "overlap-noop-layers"));
  EXPECT_THAT(bent_by(interleaved + "--num-microbatches 4 --moe-grouped-gemm --noop-layers 6 "
                                    "--expert-model-parallel-size 2"),
              IsEmpty());
  EXPECT_THAT(bent_by("--pipeline-model-parallel-size 2 --moe-fb-overlap --num-microbatches 4 "
                      "--moe-grouped-gemm --expert-model-parallel-size 2 --noop-layers 1 "
                      "--pipeline-model-parallel-layout Etttt|ttt|t|L"),
              ElementsAre("overlap-noop-layers", "layout-noop-layers", "overlap-empty-chunks"));
}

// A rule that is lifted is one that a run can be seen to bend.
TEST(BentRules, EveryLiftedRuleIsSeen) {
  const std::vector<std::string_view> seen = lifted_rule_names();
  for (const Rule& rule : rule_table()) {
    if (rule.verdict != Verdict::Lifted) continue;
    EXPECT_NE(std::ranges::find(seen, rule.name), seen.end()) << rule.name;
  }
}

}  // namespace
}  // namespace weft
