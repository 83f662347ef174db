// What PyTorch's pipelining tests publish: compute level and the transfers that it lowers to.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "passes/lower_transfers.h"
#include "passes/plans.h"
#include "passes/verify.h"

namespace weft {
namespace {

using nlohmann::json;

std::string golden(const std::string& name) {
  return read_file(WEFT_GOLDEN_DIR "/pytorch/" + name, "golden");
}

const json& cases() {
  static const json all = json::parse(golden("lowering_cases.json"));
  return all;
}

std::string line_of(const json& cells) {
  std::string line;
  for (const json& cell : cells) line += (line.empty() ? "" : ",") + cell.get<std::string>();
  return line + "\n";
}

// `{"0": cells, "1": cells}`, or the cells of the one rank.
Schedule schedule_of(const json& ranks) {
  if (ranks.is_array()) return parse_csv(line_of(ranks), "case");
  std::string text;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += line_of(ranks.at(std::to_string(rank)));
  }
  return parse_csv(text, "case");
}

std::string messages(const Schedule& schedule) {
  std::string text;
  for (const auto& findings : {verify_order(schedule), verify_transfers(schedule)}) {
    for (const Finding& finding : findings) text += finding.message + "\n";
  }
  return text;
}

bool is_receive(const Cell& cell) {
  const Action* action = std::get_if<Action>(&cell);
  return action != nullptr &&
         (action->kind == ActionKind::RecvForward || action->kind == ActionKind::RecvBackward);
}

Schedule without_receives(Schedule schedule) {
  for (auto& cells : schedule.ranks) std::erase_if(cells, is_receive);
  return schedule;
}

// Micro-batches in the order in which they are received, by stage and direction.
std::map<std::pair<ActionKind, Stage>, std::vector<MicroBatch>> receives(const Schedule& schedule) {
  std::map<std::pair<ActionKind, Stage>, std::vector<MicroBatch>> order;
  for (const auto& cells : schedule.ranks) {
    for (const Cell& cell : cells) {
      if (!is_receive(cell)) continue;
      const Action& action = std::get<Action>(cell);
      order[{action.kind, action.stage}].push_back(action.micro_batch);
    }
  }
  return order;
}

// A receive may start anywhere between what it is matched to and what needs it; all else is equal.
void expect_exchangeable(const Schedule& ours, const Schedule& published) {
  EXPECT_EQ(messages(published), "");
  EXPECT_EQ(print_csv(without_receives(ours)), print_csv(without_receives(published)));
  EXPECT_EQ(receives(ours), receives(published));
}

// PyTorch's rule: an I right before its W becomes a B.
Schedule merged(const Schedule& schedule) {
  Schedule result = schedule;
  for (auto& cells : result.ranks) {
    std::vector<Cell> whole;
    for (const Cell& cell : cells) {
      const Action& action = std::get<Action>(cell);
      const Action split{ActionKind::Dgrad, action.stage, action.micro_batch};
      if (action.kind == ActionKind::Wgrad && !whole.empty() && whole.back() == Cell(split)) {
        whole.back() = Action{ActionKind::Backward, action.stage, action.micro_batch};
      } else {
        whole.push_back(cell);
      }
    }
    cells = whole;
  }
  return result;
}

TEST(PublishedLowering, ShardingCellsAreNothingToDo) {
  for (const json& one : cases().at("unshard_reshard")) {
    EXPECT_EQ(schedule_of(one.at("comms")), schedule_of(one.at("compute")));
  }
}

// A reduction may run anywhere behind the last backward of its stage.
TEST(PublishedLowering, Reductions) {
  for (const json& one : cases().at("reduce_grad").at("cases")) {
    const Schedule published = schedule_of(one.at("comms"));
    EXPECT_EQ(messages(published), "");
    Schedule ours = lower_transfers(schedule_of(one.at("compute")), true);
    EXPECT_EQ(compute_level(ours), compute_level(published));
    std::ranges::sort(ours.ranks[0]);
    Schedule sorted = published;
    std::ranges::sort(sorted.ranks[0]);
    EXPECT_EQ(ours, sorted);
  }
}

TEST(PublishedLowering, MergedBackwards) {
  for (const json& one : cases().at("merge_bw")) {
    EXPECT_EQ(merged(schedule_of(one.at("compute"))), schedule_of(one.at("merged")));
  }
}

// In the case with W's a B stands for an I.
TEST(PublishedLowering, SendsAndReceives) {
  for (const json& one : cases().at("send_recv")) {
    SCOPED_TRACE(one.at("name"));
    Schedule compute = schedule_of(one.at("compute"));
    Schedule comms = schedule_of(one.at("comms"));
    if (one.at("name") == "v_2_rank_4_stage") {
      EXPECT_EQ(compute.map, (StageMap{2, 2, Placement::V}));
      for (Schedule* schedule : {&compute, &comms}) {
        for (auto& cells : schedule->ranks) {
          for (Cell& cell : cells) {
            Action& action = std::get<Action>(cell);
            if (action.kind == ActionKind::Backward) action.kind = ActionKind::Dgrad;
          }
        }
      }
    }
    expect_exchangeable(lower_transfers(compute, false), comms);
  }
}

TEST(PublishedLowering, ZeroBubbleOfTwoRanksWithTwoStages) {
  const json& one = cases().at("csv_case");
  const Schedule compute = parse_csv(golden(one.at("compute")), "compute");
  const Schedule comms = parse_csv(golden(one.at("comms")), "comms");
  expect_exchangeable(lower_transfers(merged(compute), false), comms);
}

}  // namespace
}  // namespace weft
