#include "schedule/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string golden(const std::string& name) {
  return read_file(std::string(WEFT_GOLDEN_DIR) + "/pytorch/" + name, "golden");
}

std::vector<std::string> messages_of(const std::string& text) {
  std::vector<std::string> messages;
  try {
    parse_csv(text, "x.csv");
  } catch (const UserError& error) {
    for (const Violation& v : error.violations()) messages.push_back(v.found + ": " + v.message);
  }
  return messages;
}

TEST(Csv, PrintsOneLinePerRank) {
  EXPECT_EQ(print_csv(build_schedule("1f1b", {.num_ranks = 2, .num_micro_batches = 2})),
            "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(Csv, WhatWasPrintedReadsBackTheSame) {
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 12; ++m) {
      for (const bool overlap : {false, true}) {
        const Schedule looped = build_schedule(
            "interleaved",
            {.num_ranks = p, .chunks_per_rank = 3, .num_micro_batches = m, .overlap = overlap});
        EXPECT_EQ(parse_csv(print_csv(looped), "x.csv"), looped);
      }
      if (p == 1) continue;  // two stages on one rank read back as looped
      const Schedule v =
          build_schedule("dualpipev", {.num_ranks = p, .num_micro_batches = m, .detach = true});
      EXPECT_EQ(parse_csv(print_csv(v), "x.csv"), v);
    }
  }
}

TEST(Csv, BlankCellsSpacesAndTrailingLines) {
  const Schedule expected = parse_csv("0F0,0B0\n1F0,1B0\n", "x.csv");
  EXPECT_EQ(parse_csv(" 0F0 ,,\t0B0,\r\n,1F0, 1B0\r\n\n  \n", "x.csv"), expected);
  EXPECT_EQ(parse_csv("0F0,0B0\n1F0,1B0", "x.csv"), expected);
}

// Of PyTorch's sharded stages: nothing to do where parameters are not sharded.
TEST(Csv, AMarkOfUtf8IsSkipped) {
  EXPECT_EQ(parse_csv("\xef\xbb\xbf"
                      "0F0,0B0\n",
                      "x.csv"),
            parse_csv("0F0,0B0\n", "x.csv"));
}

TEST(Csv, ShardingCellsAreSkipped) {
  EXPECT_EQ(parse_csv("0UNSHARD,0F0, 0B0,0RESHARD \n12UNSHARD ,1F0,1B0\n", "x.csv"),
            parse_csv("0F0,0B0\n1F0,1B0\n", "x.csv"));
  for (const char* cell : {"UNSHARD", "0UNSHARD0", "-1RESHARD", "0unshard", "0UN SHARD"}) {
    EXPECT_EQ(messages_of("0F0,0B0," + std::string(cell) + "\n").size(), 1U) << cell;
  }
}

// PyTorch's files say the same when printed again, blank cells apart.
TEST(Csv, PyTorchsFilesRoundTrip) {
  for (const char* name : {"dualpipev_4rank_10mb.csv", "zb1p_2rank_2stagep_comms.csv"}) {
    std::string text = golden(name);
    if (text.back() != '\n') text += '\n';
    EXPECT_EQ(print_csv(parse_csv(text, name)), text);
  }
  const Schedule zb1p = parse_csv(golden("zb1p_2rank_2stagep_compute.csv"), "zb1p");
  EXPECT_EQ(zb1p.map, (StageMap{2, 2, Placement::Looped}));
  EXPECT_EQ(zb1p.num_micro_batches, 8);
  EXPECT_TRUE(is_compute_level(zb1p));
  EXPECT_FALSE(is_compute_level(parse_csv(golden("zb1p_2rank_2stagep_comms.csv"), "zb1p")));
}

// From PyTorch's schedule_registry.py.
TEST(Csv, PyTorchsRegisteredSchedules) {
  const Schedule v_shaped = parse_csv("0F0,,,3F0,3B0,,,0B0\n,1F0,2F0,,,2B0,1B0,\n", "VShaped");
  EXPECT_EQ(v_shaped.map, (StageMap{2, 2, Placement::V}));
  const Schedule with_w = parse_csv(
      "0F0,0F1,2F0,2F1,,2I0,2W0,0I0,2I1,0W0,0I1,2W1,0W1\n"
      ",1F0,1F1,3F0,3I0,3F1,1I0,3I1,3W0,1I1,1W0,3W1,1W1\n",
      "WithW");
  EXPECT_EQ(with_w.map, (StageMap{2, 2, Placement::Looped}));
  EXPECT_EQ(with_w.num_micro_batches, 2);
  const Schedule comms = parse_csv(
      "0F0,0F1,0SEND_F0,0SEND_F1,0RECV_B0,0RECV_B1,0B0,0B1\n"
      "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1B1,1SEND_B0,1SEND_B1\n",
      "WithReorderedB_comms");
  EXPECT_EQ(comms.map, (StageMap{2, 1, Placement::Looped}));
  // Three stages on one rank and two on the other: neither looped nor a V.
  EXPECT_THAT(messages_of("0F0,1F0,,,4F0,4B0,,,1B0,0B0\n,,2F0,3F0,,,3B0,2B0,,\n"),
              ElementsAre("x.csv: stages 0 on rank 0, 1 on rank 0, 2 on rank 1, 3 on rank 1, 4 on "
                          "rank 0: expected stage s on rank s % 2 (looped) or ranks 0..1 and back "
                          "again (V)"));
}

TEST(Csv, EveryBadCellIsNamedByLineAndCell) {
  EXPECT_THAT(messages_of("0F0,0X0,0B0\n1F0,,oops,1B0\n"),
              ElementsAre(HasSubstr("x.csv: line 1, cell 2: `0X0`: expected <stage><op>"),
                          HasSubstr("x.csv: line 2, cell 3: `oops`: expected <stage><op>")));
  std::string many = "0F0";
  for (int i = 0; i < 30; ++i) many += ",?";
  EXPECT_EQ(messages_of(many).size(), 21u);
  EXPECT_EQ(messages_of(many).back(), "x.csv: 10 more cells like these");
}

TEST(Csv, PlacementThatIsNone) {
  EXPECT_THAT(messages_of("0F0,0B0\n1F0,0B0\n"),
              ElementsAre("x.csv: line 2, cell 2: `0B0`: stage 0 is on line 1, cell 1 too; a stage "
                          "has one rank"));
  EXPECT_THAT(
      messages_of("0F0,0B0\n2F0,2B0\n"),
      ElementsAre("x.csv: line 2, cell 1: `2F0`: stage 1 is on no rank; stages are numbered "
                  "from 0 along the model"));
  EXPECT_THAT(messages_of("1F0,1B0\n0F0,0B0\n"),
              ElementsAre(HasSubstr("expected stage s on rank")));
  EXPECT_THAT(messages_of("0F0,0B0\n\n1F0,1B0\n"),
              ElementsAre(HasSubstr("x.csv: line 2: a rank without an action")));
  EXPECT_THAT(messages_of(" \n\n"), ElementsAre(HasSubstr("no rank in it")));
  EXPECT_THAT(messages_of(""), ElementsAre(HasSubstr("no rank in it")));
}

TEST(Csv, AMicroBatchBeyondAllActionsIsRefused) {
  EXPECT_THAT(
      messages_of("0F0,0B0,0F1999999999\n"),
      ElementsAre("x.csv: line 1, cell 3: `0F1999999999`: micro-batches are numbered from 0 "
                  "without gaps; up to this one they make 2000000000 forwards, and the file has "
                  "just 3 actions"));
  EXPECT_EQ(parse_csv("0F0,0B0,0F5\n", "x.csv").num_micro_batches, 6);
}

// Stages and micro-batches each below the number of actions, their product far above it.
TEST(Csv, ManyStagesOfManyMicroBatchesThatAreMissingAreRefused) {
  std::string text = "0F200";
  for (int stage = 1; stage < 200; ++stage) text += "," + std::to_string(stage) + "F0";
  EXPECT_THAT(messages_of(text), ElementsAre(HasSubstr("40200 forwards, and the file has just 200 "
                                                       "actions")));
}

TEST(Csv, AFileThatIsNotThere) { EXPECT_THROW(read_csv("/nonexistent/x.csv"), UserError); }

}  // namespace
}  // namespace weft
