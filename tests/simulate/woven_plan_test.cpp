// What weaving hides, by the simulator.
#include <gtest/gtest.h>

#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using testing::layout_of;
using testing::round_costs;

// Uniform MoE layers whose wires are shorter than the segments over them: without the overlap every
// all-to-all is exposed, in a pair with it none. Between the last pairs of more than one rank stand
// single backwards, which have only their own W's to hide their wires under.
TEST(WovenPlan, HidesEveryAllToAllInTheSteadyPhase) {
  for (int ranks : {1, 2, 4}) {
    const Schedule schedule = build_schedule("dualpipev", {ranks, 2, 10, 0, true, true});
    std::vector<std::string> stages(schedule.map.num_stages(), "mm");
    stages.front() = "Emm";
    stages.back() = "mmL";
    const Layout layout = layout_of(schedule.map, stages);
    const auto hidden = [&](bool overlap) {
      const StepPlan plan = lower(schedule, layout, round_costs(), {overlap, false, false});
      return measure(simulate(plan, round_costs())).all_to_all_hidden_steady.value();
    };
    if (ranks == 1) {
      EXPECT_DOUBLE_EQ(hidden(true), 1);
    }
    EXPECT_GE(hidden(true), 0.98) << "P " << ranks;
    EXPECT_DOUBLE_EQ(hidden(false), 0) << "P " << ranks;
  }
}

}  // namespace
}  // namespace weft
