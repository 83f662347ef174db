// The verifiers accept what the builders and passes make, and nothing that differs from it in one
// step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "base/error.h"
#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/pass_list.h"
#include "passes/plans.h"
#include "passes/verify.h"
#include "schedule/registry.h"

namespace weft {
namespace {

struct Built {
  std::string name;
  BuildRequest request;
  Schedule schedule;
};

Built random_schedule(std::mt19937& random, int max_micro_batches) {
  static const std::vector<std::string> names = {"gpipe", "1f1b", "interleaved", "zb-h1",
                                                 "zb-h2", "zb-v", "dualpipev",   "no-pipeline"};
  Built built;
  built.name = names[random() % names.size()];
  BuildRequest& request = built.request;
  request.num_ranks = built.name == "no-pipeline" ? 1 : 1 + static_cast<int>(random() % 8);
  if (built.name == "interleaved") request.num_ranks = std::max(2, request.num_ranks);
  const ScheduleEntry& entry = *find_schedule(built.name);
  request.chunks_per_rank =
      built.name == "interleaved" ? 2 + static_cast<int>(random() % 2) : std::max(1, entry.chunks);
  request.num_micro_batches = 1 + static_cast<int>(random() % max_micro_batches);
  request.overlap = entry.has_pairs && random() % 2 == 0;
  request.detach = built.name == "dualpipev" && random() % 2 == 0;
  built.schedule = build_schedule(built.name, request);
  return built;
}

std::string describe(const Built& built, unsigned seed) {
  const BuildRequest& r = built.request;
  return built.name + " P " + std::to_string(r.num_ranks) + " v " +
         std::to_string(r.chunks_per_rank) + " M " + std::to_string(r.num_micro_batches) +
         " overlap " + std::to_string(r.overlap) + " detach " + std::to_string(r.detach) +
         " seed " + std::to_string(seed);
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.message + "\n";
  return text;
}

// Built-in schedules add up a weight's gradients in rising order of micro-batches.
std::string wgrads_out_of_order(const RankSteps& rank) {
  std::map<std::tuple<Stage, SegmentKind, int>, int> last;
  for (const Step& step : rank.steps) {
    const RunWgrad* run = std::get_if<RunWgrad>(&step);
    if (run == nullptr) continue;
    const Segment& s = run->segment;
    const auto [it, is_new] = last.try_emplace({s.stage, s.kind, s.layer}, s.micro_batch.value);
    if (!is_new && s.micro_batch.value < it->second) return print(step);
    it->second = s.micro_batch.value;
  }
  return "";
}

TEST(RandomPlans, AreAcceptedAtEveryLevel) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Built built = random_schedule(random, 40);
    SCOPED_TRACE(describe(built, seed));
    ASSERT_EQ(text_of(verify_order(built.schedule)), "");
    const Schedule transfers = lower_transfers(built.schedule, random() % 2 == 0);
    ASSERT_EQ(text_of(verify_transfers(transfers)), "");
    const Layout layout = testing::random_layout(built.schedule.map, random);
    Costs costs = testing::round_costs();
    costs.wires[WireKind::ReduceGrad] = static_cast<double>(random() % 8);
    const bool outside_steady = built.request.overlap && random() % 2 == 0;
    const StepPlan plan = lower_steps(transfers, layout, costs,
                                      {built.request.overlap, outside_steady, random() % 2 == 0});
    ASSERT_EQ(text_of(verify_steps(plan)), "");
    for (const RankSteps& rank : plan.ranks) ASSERT_EQ(wgrads_out_of_order(rank), "");
    for (const RankSteps& rank : plan.ranks) {
      ASSERT_EQ(text_of(verify_collectives({rank, rank, rank})), "");
    }
  }
}

// Every size that the issue names, without layers of random kinds.
TEST(RandomPlans, EverySizeIsAccepted) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int m = 1; m <= 40; ++m) {
      for (bool detach : {false, true}) {
        SCOPED_TRACE("P " + std::to_string(ranks) + " M " + std::to_string(m));
        const Schedule schedule = build_schedule("dualpipev", {ranks, 2, m, 0, true, detach});
        std::vector<std::string> stages(schedule.map.num_stages(), "m");
        stages.front() = "Em";
        stages.back() = "mL";
        const Layout layout = testing::layout_of(schedule.map, stages);
        EXPECT_NO_THROW(lower(schedule, layout, testing::round_costs(), {true, true, false}));
      }
    }
  }
}

TEST(RandomPlans, ForwardsAloneAreAccepted) {
  for (Placement placement : {Placement::Looped, Placement::V}) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      for (int m = 1; m <= 5; ++m) {
        const StageMap map{ranks, 2, placement};
        std::mt19937 random(ranks * 10 + m);
        EXPECT_NO_THROW(lower(build_forward_only(map, m), testing::random_layout(map, random),
                              testing::round_costs(), {true, true, true}));
      }
    }
  }
}

TEST(RandomPlans, ADroppedOrDoubledCellIsRejected) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Built built = random_schedule(random, 12);
    SCOPED_TRACE(describe(built, seed));
    // A plan of one stage without its one reduction is the plan of one replica.
    Schedule transfers = lower_transfers(built.schedule, built.schedule.map.num_stages() > 1);
    auto& cells = transfers.ranks[random() % transfers.ranks.size()];
    const auto at = cells.begin() + static_cast<long>(random() % cells.size());
    if (random() % 2 == 0) {
      cells.erase(at);
    } else {
      cells.insert(at, Cell(*at));
    }
    EXPECT_NE(text_of(verify_order(transfers)) + text_of(verify_transfers(transfers)), "");
  }
}

TEST(RandomPlans, ADroppedOrDoubledStepIsRejected) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Built built = random_schedule(random, 6);
    SCOPED_TRACE(describe(built, seed));
    const Layout layout = testing::random_layout(built.schedule.map, random);
    StepPlan plan =
        lower(built.schedule, layout, testing::round_costs(), {built.request.overlap, true, false});
    RankSteps& rank = plan.ranks[random() % plan.ranks.size()];
    const std::size_t index = random() % rank.steps.size();
    const auto at = rank.steps.begin() + static_cast<long>(index);
    const auto span = std::find_if(rank.spans.begin(), rank.spans.end(), [&](const StepSpan& s) {
      return s.first <= index && index < s.first + s.count;
    });
    const int change = random() % 2 == 0 ? -1 : 1;
    if (change < 0) {
      rank.steps.erase(at);
    } else {
      rank.steps.insert(at, Step(*at));
    }
    span->count += change;
    for (auto it = span + 1; it != rank.spans.end(); ++it) it->first += change;
    EXPECT_NE(text_of(verify_steps(plan)), "");
  }
}

// A wire's start, wait and release; an input gradient and its weight gradient; a forward and its
// input gradient: each pair swapped must be found.
bool depends(const Step& first, const Step& second) {
  const Segment* a = segment_of(first);
  const Segment* b = segment_of(second);
  if (a != nullptr && b != nullptr) return *a == *b && first.index() < second.index();
  if (a != nullptr || b != nullptr) return false;
  const auto wire = [](const Step& step) {
    if (const auto* s = std::get_if<StartWire>(&step)) return s->wire;
    if (const auto* s = std::get_if<WaitWire>(&step)) return s->wire;
    return std::get<Release>(step).wire;
  };
  return wire(first) == wire(second);
}

TEST(RandomPlans, TwoStepsSwappedAcrossADependencyAreRejected) {
  int swapped = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Built built = random_schedule(random, 6);
    SCOPED_TRACE(describe(built, seed));
    const Layout layout = testing::random_layout(built.schedule.map, random);
    StepPlan plan =
        lower(built.schedule, layout, testing::round_costs(), {built.request.overlap, true, false});
    auto& steps = plan.ranks[random() % plan.ranks.size()].steps;
    const std::size_t first = random() % steps.size();
    const auto second = std::find_if(steps.begin() + static_cast<long>(first) + 1, steps.end(),
                                     [&](const Step& s) { return depends(steps[first], s); });
    if (second == steps.end()) continue;
    ++swapped;
    std::swap(steps[first], *second);
    EXPECT_NE(text_of(verify_steps(plan)), "");
  }
  EXPECT_GT(swapped, 100);
}

}  // namespace
}  // namespace weft
