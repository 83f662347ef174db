// broken_plans.txt holds plans that must be refused, each with its findings; here is what reads it,
// and what must be accepted.
#include "passes/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "passes/lower_steps.h"
#include "passes/lower_transfers.h"
#include "passes/plans.h"
#include "passes/verify_limits.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::layout_of;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// As a CSV, without the checks that reading a file makes.
Schedule plan(StageMap map, const std::vector<std::string>& lines) {
  Schedule schedule{map, 0, {}};
  for (const std::string& line : lines) {
    auto& cells = schedule.ranks.emplace_back();
    for (const std::string& cell : split(line, ',')) cells.push_back(parse_cell(cell));
    for (const Cell& cell : cells) {
      const Action* action = std::get_if<Action>(&cell);
      const MicroBatch m =
          action != nullptr ? action->micro_batch : std::get<ActionPair>(cell).forward.micro_batch;
      schedule.num_micro_batches = std::max(schedule.num_micro_batches, m.value + 1);
    }
  }
  return schedule;
}

RankSteps steps_of(const std::string& text) {
  RankSteps rank;
  for (const std::string& step : split(text, ' ')) rank.steps.push_back(parse_step(step));
  rank.spans.push_back({Action{}, 0, rank.steps.size()});
  return rank;
}

struct BrokenPlan {
  std::string name;
  std::vector<std::string> head;   // words: level, sizes, placement, options
  std::vector<std::string> lists;  // one per rank or member
  std::string findings;            // each with a newline at its end

  // The value of an option `NAME=VALUE`, or what is given for it.
  std::string option(const std::string& key, const std::string& otherwise = "") const {
    for (const std::string& word : head) {
      if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
    }
    return otherwise;
  }
  bool forward_only() const { return std::ranges::count(head, "forward-only") > 0; }
  StageMap map() const {
    const std::vector<std::string> sizes = split(head[1], 'x');
    return {std::stoi(sizes[0]), std::stoi(sizes[1]),
            head[2] == "v" ? Placement::V : Placement::Looped};
  }
};

std::vector<BrokenPlan> read_broken_plans() {
  std::vector<BrokenPlan> plans;
  std::ifstream file(WEFT_BROKEN_PLANS);
  bool in_findings = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("=== ")) {
      plans.push_back({line.substr(4), {}, {}, {}});
      in_findings = false;
    } else if (line == "---") {
      in_findings = true;
    } else if (in_findings) {
      plans.back().findings += line + "\n";
    } else if (plans.back().head.empty()) {
      plans.back().head = split(line, ' ');
    } else if (line.starts_with("  ")) {
      plans.back().lists.back() += line.substr(1);
    } else {
      plans.back().lists.push_back(line);
    }
  }
  return plans;
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.verifier + ": " + finding.message + "\n";
  return text;
}

PlanLimits limits_of(const BrokenPlan& broken) {
  PlanLimits limits;
  const auto number = [&](const char* key) -> std::optional<int> {
    const std::string text = broken.option(key);
    return text.empty() ? std::nullopt : std::optional(std::stoi(text));
  };
  limits.live_chunks = number("live-chunks");
  limits.pending_wgrads = number("pending-wgrads");
  limits.bytes = number("bytes");
  return limits;
}

// `10/4,12/4`: activation and wgrad of each stage.
std::vector<KeptBytes> stage_bytes_of(const BrokenPlan& broken) {
  std::vector<KeptBytes> stages;
  for (const std::string& stage : split(broken.option("stage-bytes"), ',')) {
    const std::vector<std::string> both = split(stage, '/');
    stages.push_back({.activation = std::stoi(both[0]), .wgrad = std::stoi(both[1])});
  }
  return stages;
}

CostBytes cost_bytes_of(const BrokenPlan& broken) {
  CostBytes bytes;
  for (const KeptBytes& stage : stage_bytes_of(broken)) {
    bytes.stages.emplace(static_cast<int>(bytes.stages.size()), stage);
  }
  return bytes;
}

std::vector<Finding> findings_of(const BrokenPlan& broken) {
  const std::string& level = broken.head[0];
  if (level == "collectives" || level == "steps" || level == "limits-steps") {
    std::vector<RankSteps> ranks;
    for (const std::string& list : broken.lists) ranks.push_back(steps_of(list));
    if (level == "collectives") return verify_collectives(ranks);
    int micro_batches = 1;
    for (const std::string& list : broken.lists) {
      if (list.find("F1") != std::string::npos) micro_batches = 2;
    }
    const Layout layout = layout_of(broken.map(), split(broken.option("stages"), '|'));
    if (level == "steps") {
      return verify_steps({layout, micro_batches, ranks}, broken.forward_only());
    }
    for (const std::string& cell : split(broken.option("split"), ',')) {
      ranks.at(0).spans.at(0).joined.push_back(std::get<Action>(parse_cell(cell)));
    }
    const StepPlan plan{layout, micro_batches, ranks};
    EXPECT_EQ(text_of(verify_steps(plan)), "");
    return verify_limits(plan, held_by_step(plan, cost_bytes_of(broken)), limits_of(broken));
  }
  Schedule schedule = plan(broken.map(), broken.lists);
  schedule.num_micro_batches =
      std::stoi(broken.option("M", std::to_string(schedule.num_micro_batches)));
  if (level == "limits") {
    return verify_limits(schedule, held_by_cell(schedule, stage_bytes_of(broken)),
                         limits_of(broken));
  }
  if (level == "transfers") {
    EXPECT_TRUE(verify_order(schedule).empty() || broken.forward_only());
    return verify_transfers(schedule);
  }
  EXPECT_EQ(level, "compute");
  return verify_order(schedule, broken.forward_only());
}

TEST(Verify, EachBrokenPlanHasItsFindings) {
  const std::vector<BrokenPlan> plans = read_broken_plans();
  EXPECT_GE(plans.size(), 30u);
  for (const BrokenPlan& broken : plans) {
    SCOPED_TRACE(broken.name);
    EXPECT_EQ(text_of(findings_of(broken)), broken.findings);
  }
}

// Every verifier has at least one plan that only it refuses.
TEST(Verify, EachVerifierHasABrokenPlan) {
  std::map<std::string, int> found;
  for (const BrokenPlan& broken : read_broken_plans()) {
    for (const Finding& finding : findings_of(broken)) {
      ++found[broken.head[0] + " " + finding.verifier];
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : found) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "collectives verify_collectives", "compute verify_data_flow",
                         "compute verify_once", "compute verify_wgrads", "limits verify_limits",
                         "limits-steps verify_limits", "steps verify_data_flow",
                         "steps verify_message_order", "steps verify_once",
                         "steps verify_reductions", "steps verify_releases",
                         "steps verify_rendezvous", "steps verify_wgrads",
                         "transfers verify_message_order", "transfers verify_messages",
                         "transfers verify_reductions", "transfers verify_rendezvous"));
}

// The first cell that holds too much, and the peak: each with its time.
TEST(VerifyLimits, SayWhen) {
  const Schedule schedule = plan({1, 1, Placement::Looped}, {"0F0,0F1,0F2,0I0,0W0,0B1,0B2"});
  const PlanTimes times = {{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5.5}, {6, 8}, {8, 10}}};
  const PlanHeld held = held_by_cell(schedule, {{.activation = 10, .wgrad = 25}});
  const auto message = [&](const PlanLimits& limits) {
    const std::vector<Finding> findings = verify_limits(schedule, held, limits, times);
    EXPECT_EQ(findings.size(), 1u);
    return findings.at(0).message.substr(0, findings.at(0).message.find('\n'));
  };
  EXPECT_EQ(message({.live_chunks = 1}),
            "rank 0 cell 2 (0F1) at 1.0: 2 live chunks, the limit is 1; the rank's peak is 3 at "
            "2.0");
  EXPECT_EQ(message({.pending_wgrads = 0}),
            "rank 0 cell 4 (0I0) at 4.0: 1 pending W's, the limit is 0; the rank's peak is 1");
  EXPECT_EQ(message({.bytes = 19}),
            "rank 0 cell 2 (0F1) at 1.0: 20 bytes, the limit is 19; the rank's peak is 45 at 4.0");
  EXPECT_EQ(message({.bytes = 44}),
            "rank 0 cell 4 (0I0) at 4.0: 45 bytes, the limit is 44; the rank's peak is 45");
  EXPECT_TRUE(verify_limits(schedule, held, {3, 1, 45}, times).empty());
}

constexpr StageMap kTwo{2, 1, Placement::Looped};

TEST(Verify, AcceptsOneForwardOneBackward) {
  EXPECT_EQ(text_of(verify_order(plan(kTwo, {"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}))), "");
}

TEST(Verify, AcceptsWhatPyTorchLowersTo) {
  EXPECT_EQ(text_of(verify_transfers(
                plan(kTwo, {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1",
                            "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1"}))),
            "");
}

TEST(Verify, AcceptsTwoDenseStages) {
  const StepPlan steps{
      layout_of(kTwo, {"Ed", "L"}),
      1,
      {steps_of("0F0:embedding 0F0:attention.0 0F0:mlp.0 start(0SEND_F0) wait(0SEND_F0) "
                "release(0SEND_F0) start(0RECV_B0) wait(0RECV_B0) 0I0:mlp.0 0W0:mlp.0 "
                "0I0:attention.0 0W0:attention.0 0W0:embedding"),
       steps_of("start(1RECV_F0) wait(1RECV_F0) 1F0:head 1I0:head start(1SEND_B0) 1W0:head "
                "wait(1SEND_B0) release(1SEND_B0)")}};
  EXPECT_EQ(text_of(verify_steps(steps)), "");
}

// The extra micro-batch of warm-up is what keeps interleaved pairs free of cycles: weaving each
// forward of the plain order with the backward behind it has one.
TEST(Verify, PlainInterleavedCannotBeWoven) {
  for (int ranks : {2, 3, 4}) {
    BuildRequest request{.num_ranks = ranks, .chunks_per_rank = 2, .num_micro_batches = 4 * ranks};
    Schedule woven = build_schedule("interleaved", request);
    for (auto& cells : woven.ranks) {
      std::vector<Cell> merged;
      for (const Cell& cell : cells) {
        const Action& action = std::get<Action>(cell);
        const Action* before = merged.empty() ? nullptr : std::get_if<Action>(&merged.back());
        const bool steady = merged.size() > static_cast<std::size_t>(ranks);
        if (action.kind == ActionKind::Backward && steady && before != nullptr &&
            before->kind == ActionKind::Forward) {
          merged.back() = ActionPair{*before, action};
        } else {
          merged.push_back(cell);
        }
      }
      cells = merged;
    }
    const std::vector<Finding> findings = verify_order(woven);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].verifier, "verify_data_flow");
    request.overlap = true;
    EXPECT_EQ(text_of(verify_order(build_schedule("interleaved", request))), "");
  }
}

// A forward of three MoE layers woven with a backward of one: the members of the group get the same
// order from the same costs, and the verifier tells if one of them had others.
TEST(Verify, CollectivesOfUnequalPairs) {
  const Schedule schedule = build_schedule("dualpipev", {2, 2, 6, 0, true, true});
  const Layout layout = layout_of(schedule.map, {"Emmm", "m", "dm", "mmL"});
  const Schedule transfers = lower_transfers(schedule, true);
  const Costs costs = testing::round_costs();
  Costs others = costs;
  others.wires[WireKind::Dispatch] = 40;
  others.wires[WireKind::CombineBackward] = 40;
  const StepPlan plan = lower_steps(transfers, layout, costs, {true});
  const StepPlan again = lower_steps(transfers, layout, costs, {true});
  const StepPlan other = lower_steps(transfers, layout, others, {true});
  bool differs = false;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    EXPECT_EQ(text_of(verify_collectives({plan.ranks[r], again.ranks[r]})), "");
    differs |= !verify_collectives({plan.ranks[r], other.ranks[r]}).empty();
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace weft
