#include "schedule/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "schedule/csv.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> rules_of(const std::string& name, const BuildRequest& request) {
  std::vector<std::string> rules;
  try {
    build_schedule(name, request);
  } catch (const UserError& error) {
    for (const Violation& violation : error.violations()) rules.push_back(violation.rule);
  }
  return rules;
}

TEST(Registry, NamesOfTheCommandLine) {
  std::vector<std::string> names;
  for (const ScheduleEntry& entry : schedule_table()) {
    names.emplace_back(entry.name);
    EXPECT_FALSE(entry.help.empty());
  }
  EXPECT_THAT(names, ElementsAre("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v",
                                 "dualpipev", "no-pipeline", "auto"));
}

TEST(Registry, DefaultName) {
  EXPECT_EQ(default_schedule_name(1, 1), "no-pipeline");
  EXPECT_EQ(default_schedule_name(1, 2), "no-pipeline");
  EXPECT_EQ(default_schedule_name(4, 1), "1f1b");
  EXPECT_EQ(default_schedule_name(4, 2), "interleaved");
}

TEST(Registry, UnknownAndUnbuiltNames) {
  EXPECT_THAT(rules_of("dualpipe-v", {}), ElementsAre("schedule-unknown"));
  EXPECT_THAT(rules_of("auto", {}), ElementsAre("schedule-searched"));
  try {
    build_schedule("dualpipv", {});
    FAIL() << "an unknown name was accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean dualpipev?"));
  }
}

TEST(Registry, AllThatIsWrongAtOnce) {
  EXPECT_THAT(rules_of("1f1b", {.num_ranks = 0, .num_micro_batches = 0, .group_size = -1}),
              ElementsAre("at-least-one", "at-least-one", "at-least-one"));
  EXPECT_THAT(
      rules_of("1f1b", {.num_ranks = 2, .chunks_per_rank = 2, .overlap = true, .detach = true}),
      ElementsAre("one-chunk", "overlap-needs-pairs", "detach-needs-dualpipev"));
  EXPECT_THAT(rules_of("no-pipeline", {.num_ranks = 2}), ElementsAre("no-pipeline-one-rank"));
  EXPECT_THAT(rules_of("zb-v", {.num_ranks = 2, .detach = true}),
              ElementsAre("detach-needs-dualpipev"));
}

TEST(Registry, PlacementAndChunks) {
  EXPECT_EQ(stage_map_of("dualpipev", {.num_ranks = 3}), (StageMap{3, 2, Placement::V}));
  EXPECT_EQ(stage_map_of("interleaved", {.num_ranks = 3, .chunks_per_rank = 4}),
            (StageMap{3, 4, Placement::Looped}));
  EXPECT_EQ(build_schedule("dualpipev", {.num_ranks = 1, .num_micro_batches = 2}).map,
            (StageMap{1, 2, Placement::V}));
}

TEST(Registry, OneRankWithOverlapHasPairsUnderEveryName) {
  const BuildRequest request{.num_micro_batches = 2, .overlap = true};
  EXPECT_EQ(print_csv(build_schedule("1f1b", request)), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  EXPECT_EQ(print_csv(build_schedule("interleaved", request)), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  EXPECT_EQ(print_csv(build_schedule("gpipe", request)), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  const Schedule zb_v = build_schedule("zb-v", request);
  EXPECT_EQ(print_csv(zb_v), "0F0,1F0,(0F1;1B0)OVERLAP_F_B,(1F1;0B0)OVERLAP_F_B,1B1,0B1\n");
  EXPECT_EQ(zb_v.map, (StageMap{1, 2, Placement::V}));
}

TEST(ForwardOnly, Literal) {
  EXPECT_EQ(print_csv(build_forward_only({2, 2, Placement::V}, 3)),
            "0F0,0F1,0F2,3F0,3F1,3F2\n"
            "1F0,1F1,2F0,1F2,2F1,2F2\n");
  EXPECT_EQ(print_csv(build_forward_only({2, 2, Placement::Looped}, 3)),
            "0F0,0F1,0F2,2F0,2F1,2F2\n"
            "1F0,1F1,1F2,3F0,3F1,3F2\n");
}

// A forward has run once the one of the stage before has; all ranks take turns until nobody can go.
TEST(ForwardOnly, EveryMicroBatchOnceAndNothingHangs) {
  for (int p = 1; p <= 8; ++p) {
    for (const StageMap& map : {StageMap{p, 1, Placement::Looped},
                                StageMap{p, 3, Placement::Looped}, StageMap{p, 2, Placement::V}}) {
      for (int m = 1; m <= 20; ++m) {
        const Schedule schedule = build_forward_only(map, m);
        std::vector<int> done(map.num_stages(), 0);  // micro-batches in order on each stage
        std::vector<std::size_t> next(p, 0);
        bool moved = true;
        while (moved) {
          moved = false;
          for (int r = 0; r < p; ++r) {
            while (next[r] < schedule.ranks[r].size()) {
              const Action& action = std::get<Action>(schedule.ranks[r][next[r]]);
              const int s = action.stage.value;
              ASSERT_EQ(map.rank_of(action.stage), Rank(r));
              ASSERT_EQ(action.micro_batch.value, done[s]);
              if (s > 0 && done[s - 1] <= action.micro_batch.value) break;
              ++done[s];
              ++next[r];
              moved = true;
            }
          }
        }
        for (const int count : done) ASSERT_EQ(count, m);
      }
    }
  }
}

}  // namespace
}  // namespace weft
