#include "cli/schedule_text.h"

#include <sstream>

#include "cli/run_weft.h"
#include "costs/costs.h"
#include "passes/pass_list.h"
#include "schedule/csv.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

// Two ranks, F = 1 and B = 2: the receive of B0 is posted before 0F1, the send of F0 stands behind
// 0F0.
TEST(TransfersText, ReceivesOverAndSendsUnderTheRank) {
  const Schedule transfers = parse_csv(
      "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0B0,0RECV_B1,0B1,0REDUCE_GRAD\n"
      "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD\n",
      "test");
  const Timeline compute = simulate(compute_level(transfers), Costs{});
  EXPECT_EQ(transfers_text(transfers, compute, 80),
            "time       0   1   2   3   4   5   6   7   8\n"
            "  receive      0B0                     0B1\n"
            "rank 0     0F0 0F1 .   .   0B0---- .   0B1----\n"
            "  send     0F0 0F1                     0R\n"
            "  receive      1F0 1F1\n"
            "rank 1     .   1F0 1B0---- 1F1 1B1---- .   .\n"
            "  send             1B0         1B1 1R\n"
            "receive: posted before the cell below it; send: started behind the cell above\n"
            "it; F activations, B their gradients, R sums of weight gradients\n");
}

// One dense layer under the default costs: embedding 0.05, attention and Mlp 1 each, head 0.5; the
// backward begins when the forward has ended.
TEST(StepsText, StartOfEachCellAndItsSteps) {
  const Schedule schedule = parse_csv("0F0,0B0\n", "test");
  const Layout layout{schedule.map, {{true, {0}, {}, true}}, {LayerKind::Dense}, false};
  const StepPlan plan = lower(schedule, layout, default_costs(), {});
  EXPECT_EQ(steps_text(plan, simulate(plan, default_costs()), 60),
            "rank 0\n"
            "units  cell  steps\n"
            "0      0F0   embedding attention.0 mlp.0 head\n"
            "2.55   0B0   I:head W:head I:mlp.0 W:mlp.0 I:attention.0\n"
            "             W:attention.0 W:embedding\n");
}

// However many micro-batches: lines fit, and there are few beside the hundreds of steps.
TEST(ScheduleText, FitsATerminalAtEveryLevel) {
  const std::string sizes =
      " --pipeline-model-parallel-size 4 --num-microbatches 120 --schedules-method dualpipev "
      "--moe-fb-overlap --num-experts 8 --num-layers 8 --data-parallel-size 2 --format text";
  for (const std::string level : {"compute", "transfers", "steps"}) {
    const WeftRun run = run_weft("schedule --level " + level + sizes);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_LE(longest_line(run.out), 80U) << level;
    EXPECT_NE(run.out.find("0F119"), std::string::npos) << level;
  }
}

}  // namespace
}  // namespace weft
