#include "search/search_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.h"
#include "costs/costs_toml.h"
#include "layout/make_layout.h"
#include "passes/verify.h"
#include "schedule/csv.h"
#include "search/bound.h"
#include "search/built_ins.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

AutoRequest request_of(int ranks, int micro_batches, int limit, const StageCost& stage) {
  AutoRequest request{.num_ranks = ranks, .num_micro_batches = micro_batches};
  request.max_live_chunks = limit;
  request.costs.stage = stage;
  return request;
}

double makespan_of(const AutoRequest& request) {
  const FoundSchedule found = search_schedule(request);
  EXPECT_EQ(measure(simulate(found.schedule, request.costs)).makespan, found.makespan);
  EXPECT_LE(peak_live_chunks(found.schedule), request.max_live_chunks.value_or(1 << 30));
  return found.makespan;
}

// The last rank cannot begin before P - 1 forwards have come to it and then has 6 M units of work.
TEST(SearchSchedule, UniformCostsLeaveNoBubbleButTheWayDown) {
  for (const auto& [ranks, micro_batches] : {std::pair{2, 6}, {4, 10}, {8, 32}}) {
    for (const int limit : {2 * ranks, 2 * ranks + 1}) {
      EXPECT_EQ(makespan_of(request_of(ranks, micro_batches, limit, {1, 1, 1})),
                6 * micro_batches + ranks - 1)
          << ranks << " ranks, limit " << limit;
    }
  }
}

TEST(SearchSchedule, OneRankIsAlwaysBusy) {
  EXPECT_EQ(makespan_of(request_of(1, 5, 2, {1, 2, 3})), 5 * 2 * 6);
}

// All forwards, all input gradients, then the one weight gradient that nothing can run beside.
TEST(SearchSchedule, OneMicroBatchTakesItsOwnWay) {
  EXPECT_EQ(makespan_of(request_of(3, 1, 7, {2, 3, 1})), 6 * 2 + 6 * 3 + 1);
}

// No pair before the first gradient: with P = 1 both forwards of micro-batch 0 and both backwards
// of the last run alone, everything else in pairs: 2 F + 2 (M - 1) pairs + 2 (I + W).
TEST(SearchSchedule, OneRankOfPairs) {
  AutoRequest request = request_of(1, 6, 3, {1, 1, 1});
  request.costs.pair = 2;
  EXPECT_EQ(makespan_of(request), 2 * 1 + 2 * 5 * 2 + 2 * 2);
}

TEST(SearchSchedule, RefusesALimitThatNothingCanMeet) {
  EXPECT_NO_THROW(search_schedule(request_of(4, 5, 2, {1, 1, 1})));
  try {
    search_schedule(request_of(4, 5, 1, {1, 1, 1}));
    FAIL() << "one chunk is not enough";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("smallest limit that can be met is 2"));
  }
}

TEST(SearchSchedule, SaysWhatItGained) {
  EXPECT_THAT(search_schedule(request_of(4, 10, 9, {1, 1, 1})).summary,
              HasSubstr("makespan 63 units, bubble 3 units, at most 9 live chunks; no order ends "
                        "earlier; best built-in that fits: "));
  EXPECT_THAT(search_schedule(request_of(4, 10, 3, {1, 1, 1})).summary,
              HasSubstr("no built-in schedule fits"));
}

TEST(SearchSchedule, PairsOnlyWhereAskedForOrPaid) {
  const auto has_pairs = [](const AutoRequest& request) {
    for (const auto& cells : search_schedule(request).schedule.ranks) {
      for (const Cell& cell : cells) {
        if (std::holds_alternative<ActionPair>(cell)) return true;
      }
    }
    return false;
  };
  AutoRequest request = request_of(2, 8, 5, {1, 1, 1});
  EXPECT_FALSE(has_pairs(request));
  request.costs.pair = 2.5;
  EXPECT_TRUE(has_pairs(request));
  request.costs.pair.reset();
  request.overlap = true;
  EXPECT_TRUE(has_pairs(request));
}

// Every stage runs its weight gradients in rising order of micro-batches, so digests stay.
bool wgrads_rise(const Schedule& schedule) {
  std::map<Stage, int> next;
  const auto take = [&next](const Action& action) {
    const bool has_wgrad = action.kind == ActionKind::Wgrad || action.kind == ActionKind::Backward;
    return !has_wgrad || action.micro_batch.value == next[action.stage]++;
  };
  for (const auto& cells : schedule.ranks) {
    for (const Cell& cell : cells) {
      const auto* pair = std::get_if<ActionPair>(&cell);
      if (!take(pair != nullptr ? pair->backward : std::get<Action>(cell))) return false;
    }
  }
  return true;
}

struct RandomCase {
  AutoRequest request;
  bool uniform = true;
};

RandomCase random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto between = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  RandomCase result;
  const int ranks = 1 + static_cast<int>(random() % 5);
  result.request = request_of(ranks, 1 + static_cast<int>(random() % 12),
                              2 + static_cast<int>(random() % (4 * ranks)),
                              {between(0.3, 2), between(0.3, 2), between(0.3, 2)});
  Costs& costs = result.request.costs;
  if (random() % 2 == 0) {
    result.uniform = false;
    for (int s = 0; s < 2 * ranks; ++s) {
      costs.stages[s] = {between(0.3, 2), between(0.3, 2), between(0.3, 2)};
    }
  }
  if (random() % 3 == 0) {
    result.uniform = false;
    costs.pair = between(0.7, 1.1) * (costs.stage.forward + costs.stage.dgrad + costs.stage.wgrad);
  }
  if (random() % 3 == 0) {
    result.uniform = false;
    costs.p2p = between(0, 0.5);
  }
  result.request.overlap = random() % 3 == 0;
  return result;
}

TEST(SearchSchedule, RandomCostsAndLimits) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase random = random_case(seed);
    const AutoRequest& request = random.request;
    const int limit = *request.max_live_chunks;
    const FoundSchedule found = search_schedule(request);
    ASSERT_TRUE(verify_order(found.schedule).empty());
    ASSERT_TRUE(wgrads_rise(found.schedule));
    ASSERT_LE(peak_live_chunks(found.schedule), limit);
    const double makespan = measure(simulate(found.schedule, request.costs)).makespan;
    ASSERT_EQ(makespan, found.makespan);
    for (const BuiltIn& built_in :
         built_ins_that_fit(request.num_ranks, request.num_micro_batches, limit, request.overlap)) {
      // Other placements have other hand-overs, and other stages beside each other.
      const bool comparable = built_in.schedule.map.placement == Placement::V || random.uniform;
      if (!comparable) continue;
      const Costs costs = costs_on(built_in.schedule.map, request.costs);
      ASSERT_LE(makespan, measure(simulate(built_in.schedule, costs)).makespan * (1 + 1e-12))
          << built_in.flags;
    }
    const SearchProblem problem =
        make_problem(request.num_ranks, request.num_micro_batches, limit, true,
                     compute_costs(request.num_ranks, request.costs));
    ASSERT_GE(makespan, lower_bound(problem) * (1 - 1e-12));
  }
}

TEST(SearchSchedule, EqualRequestsGiveEqualSchedules) {
  const AutoRequest request = random_case(3).request;
  EXPECT_EQ(search_schedule(request).schedule, search_schedule(request).schedule);
}

// Costs with wires: the plan that would run is what is judged.
TEST(SearchSchedule, JudgesLoweredPlansWhereCostsNameWires) {
  for (const bool overlap : {false, true}) {
    AutoRequest request{.num_ranks = 2, .num_micro_batches = 5, .overlap = overlap};
    request.costs = default_costs();
    Config config;
    config.parallel.pipeline_model_parallel_size = 2;
    config.model.num_layers = 6;
    config.model.num_experts = 4;
    request.layout = make_layout(config, {2, 2, Placement::V});
    const FoundSchedule found = search_schedule(request);
    const LowerOptions options{.moe_fb_overlap = overlap};
    const auto lowered = [&](const Schedule& schedule) {
      return measure(
                 simulate(lower(schedule, *request.layout, request.costs, options), request.costs))
          .makespan;
    };
    EXPECT_EQ(lowered(found.schedule), found.makespan);
    for (const BuiltIn& built_in : built_ins_that_fit(2, 5, default_live_chunks(2), overlap)) {
      if (built_in.schedule.map.placement != Placement::V) continue;
      EXPECT_LE(found.makespan, lowered(built_in.schedule)) << built_in.flags;
    }
  }
}

// Stages that cost next to nothing put off W's for nothing: a forward is woven with an I whose W
// stands between them.
TEST(SearchSchedule, StagesWithoutLayersKeepEveryAction) {
  AutoRequest request{.num_ranks = 2, .num_micro_batches = 4, .overlap = true};
  request.costs = parse_costs("[wires]\ndispatch = 0.5\nsend_forward = 0.1\n", "test");
  request.lowering.moe_fb_overlap = true;
  Config config;
  config.parallel.pipeline_model_parallel_size = 2;
  config.schedule.pipeline_model_parallel_layout = "Etttttttt|||L";
  config.model.num_layers = 8;
  config.model.num_experts = 4;
  request.layout = make_layout(config, {2, 2, Placement::V});
  const FoundSchedule found = search_schedule(request);
  EXPECT_TRUE(verify_order(found.schedule).empty());
  EXPECT_TRUE(wgrads_rise(found.schedule));
}

}  // namespace
}  // namespace weft
