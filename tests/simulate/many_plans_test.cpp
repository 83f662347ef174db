// Ten thousand random plans, in shards that CTest runs side by side: drawn action by action, or
// built by a registered schedule. Each is verified, simulated beside the naive rules, printed and
// read back, and broken in one place.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/plans.h"
#include "passes/verify.h"
#include "schedule/csv.h"
#include "schedule/registry.h"
#include "simulate/naive.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

using testing::draw;
using testing::Random;

constexpr unsigned kPlansPerShard = 1000;
constexpr unsigned kShards = 10;
// Of as many plans one is taken to the steps level, and of those one is woven.
constexpr unsigned kStepsEvery = 4;
constexpr unsigned kWovenEvery = 40;

Schedule built_schedule(Random& random) {
  std::vector<const ScheduleEntry*> entries;
  for (const ScheduleEntry& entry : schedule_table()) {
    if (entry.build != nullptr) entries.push_back(&entry);
  }
  const ScheduleEntry& entry =
      *entries[static_cast<std::size_t>(draw(random, 0, static_cast<int>(entries.size()) - 1))];
  BuildRequest request;
  const std::string name(entry.name);
  request.num_ranks = name == "no-pipeline" ? 1 : draw(random, name == "interleaved" ? 2 : 1, 5);
  request.chunks_per_rank = name == "interleaved" ? draw(random, 2, 3) : std::max(1, entry.chunks);
  request.num_micro_batches = draw(random, 1, 9);
  request.overlap = entry.has_pairs && draw(random, 0, 1) == 1;
  request.detach = name == "dualpipev" && draw(random, 0, 1) == 1;
  return build_schedule(name, request);
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.message + "\n";
  return text;
}

std::string findings_of(const Schedule& transfers) {
  return text_of(verify_order(transfers)) + text_of(verify_transfers(transfers));
}

// A V of one rank reads back as two looped chunks: the same places.
Schedule as_read(Schedule schedule) {
  if (schedule.map.num_ranks == 1) schedule.map.placement = Placement::Looped;
  return schedule;
}

// Whether b, further down the same list, needs a: F, B or I, W of one micro-batch; a cell and the
// message that it sends; a message and the cell that takes it.
bool depends(const Action& a, const Action& b) {
  using enum ActionKind;
  if (b.kind == ReduceGrad) return a.stage == b.stage && (a.kind == Backward || a.kind == Wgrad);
  if (a.stage != b.stage || a.micro_batch != b.micro_batch) return false;
  switch (a.kind) {
    case Forward:
      return b.kind == Backward || b.kind == Dgrad || b.kind == SendForward;
    case Backward:
      return b.kind == SendBackward;
    case Dgrad:
      return b.kind == Wgrad || b.kind == SendBackward;
    case RecvForward:
      return b.kind == Forward;
    case RecvBackward:
      return b.kind == Backward || b.kind == Dgrad;
    case Wgrad:
    case SendForward:
    case SendBackward:
    case ReduceGrad:
      return false;
  }
  return false;
}

bool depends(const Cell& a, const Cell& b) {
  for (const Action& first : testing::halves(a)) {
    for (const Action& second : testing::halves(b)) {
      if (depends(first, second)) return true;
    }
  }
  return false;
}

// Drops, doubles, or swaps with the first cell that needs it, a cell drawn at random; says which.
std::string break_plan(Schedule& plan, Random& random) {
  auto& cells = plan.ranks[static_cast<std::size_t>(draw(random, 0, plan.map.num_ranks - 1))];
  const auto at = cells.begin() + draw(random, 0, static_cast<int>(cells.size()) - 1);
  const auto second =
      std::find_if(at + 1, cells.end(), [&](const Cell& cell) { return depends(*at, cell); });
  const std::string text = print(*at);
  switch (draw(random, 0, second == cells.end() ? 1 : 2)) {
    case 0:
      cells.erase(at);
      return "dropped " + text;
    case 1:
      cells.insert(at, Cell(*at));
      return "doubled " + text;
    default:
      std::iter_swap(at, second);
      return "swapped " + text + " and " + print(*at);
  }
}

void check_steps(const Schedule& transfers, bool woven, Random& random) {
  const Layout layout = testing::random_layout(transfers.map, random);
  const Costs costs = testing::round_costs();
  const StepPlan plan = lower_steps(transfers, layout, costs, {woven});
  ASSERT_EQ(text_of(verify_steps(plan)), "");
  for (const RankSteps& rank : plan.ranks) {
    for (const Step& step : rank.steps) ASSERT_EQ(parse_step(print(step)), step);
  }
  EXPECT_EQ(simulate(plan, costs).ranks.size(), plan.ranks.size());
}

class ManyPlans : public ::testing::TestWithParam<unsigned> {};

TEST_P(ManyPlans, HoldInEveryWay) {
  for (unsigned i = 0; i < kPlansPerShard; ++i) {
    const unsigned seed = GetParam() * kPlansPerShard + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Schedule schedule =
        seed % 2 == 0 ? testing::random_schedule(random) : built_schedule(random);
    ASSERT_EQ(text_of(verify_order(schedule)), "");
    ASSERT_EQ(parse_csv(print_csv(schedule), "test"), as_read(schedule));
    const Costs costs = testing::random_costs(random);
    ASSERT_EQ(simulate(schedule, costs).ranks[0].end, testing::naive_makespan(schedule, costs));

    // A plan of one stage without its one reduction is the plan of one replica.
    const bool reduces = schedule.map.num_stages() > 1 && draw(random, 0, 1) == 1;
    const Schedule transfers = lower_transfers(schedule, reduces);
    ASSERT_EQ(text_of(verify_transfers(transfers)), "");
    ASSERT_EQ(parse_csv(print_csv(transfers), "test"), as_read(transfers));
    if (i % kStepsEvery == 0) {
      ASSERT_NO_FATAL_FAILURE(check_steps(transfers, i % kWovenEvery == 0, random));
    }

    Schedule broken = transfers;
    const std::string change = break_plan(broken, random);
    ASSERT_NE(findings_of(broken), "") << change;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, ManyPlans, ::testing::Range(0U, kShards));

}  // namespace
}  // namespace weft
