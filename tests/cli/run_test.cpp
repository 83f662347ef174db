// The real binary: exit codes, where results go, what happens to arguments without sense.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "cli/run_weft.h"
#include "config/derive.h"
#include "config/flag.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kSmall = "--pipeline-model-parallel-size 2 --num-microbatches 2";

std::string small(const std::string& verb) { return verb + " " + kSmall; }

TEST(Weft, AloneListsItsVerbs) {
  for (const char* words : {"", "--help", "-h"}) {
    const WeftRun run = run_weft(words);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("\n  simulate "));
    EXPECT_EQ(run.err, "");
  }
  EXPECT_THAT(run_weft("--version").out, StartsWith("weft 0."));
  EXPECT_THAT(run_weft("plan --help").out, StartsWith("weft plan: "));
}

TEST(Weft, SchedulePrintsPyTorchsCsv) {
  const WeftRun run = run_weft(small("schedule"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_EQ(run.err, "");
}

TEST(Weft, ScheduleGivesThePublishedDualpipev) {
  const WeftRun run = run_weft(
      "schedule --schedules-method dualpipev --dualpipev-dw-detach "
      "--pipeline-model-parallel-size 4 --num-microbatches 10 --format csv");
  EXPECT_EQ(run.out, slurp(WEFT_GOLDEN "/pytorch/dualpipev_4rank_10mb.csv"));
}

TEST(Weft, ScheduleLowersOnRequest) {
  const WeftRun transfers = run_weft(small("schedule --level transfers --data-parallel-size 2"));
  EXPECT_EQ(transfers.exit_code, 0);
  EXPECT_THAT(transfers.out, HasSubstr("1RECV_F0"));
  EXPECT_THAT(transfers.out, HasSubstr("0REDUCE_GRAD"));
  const WeftRun steps = run_weft(small("schedule --level steps --num-experts 4"));
  EXPECT_EQ(steps.exit_code, 0);
  EXPECT_THAT(steps.out, HasSubstr("start(0F0:dispatch.0)"));
  const auto json = nlohmann::json::parse(run_weft(small("schedule --format json")).out);
  EXPECT_EQ(json["ranks"][1]["cells"][0], "1F0");
}

class ScheduleFile : public testing::Test {
 protected:
  ScheduleFile() { std::filesystem::create_directories(folder_); }
  ~ScheduleFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  WeftRun run(const std::string& words) const { return run_weft(words, folder_); }

  const std::string folder_ = testing::TempDir() + "weft_csv_" + std::to_string(getpid());
};

TEST_F(ScheduleFile, SimulateSaysWhatOutsideSteadyChanges) {
  write("costs.toml", "[wires]\ndispatch = 0.5\n");
  const std::string words =
      "simulate --schedules-method dualpipev --pipeline-model-parallel-size 2 --num-microbatches 4 "
      "--num-layers 4 --num-experts 4 --moe-fb-overlap --format json --costs costs.toml";
  const auto without = nlohmann::json::parse(run(words).out);
  const auto with = nlohmann::json::parse(run(words + " --overlap-outside-steady").out);
  EXPECT_EQ(with["makespan_without_overlap_outside_steady"], without["makespan"]);
  EXPECT_FALSE(without.contains("makespan_without_overlap_outside_steady"));
}

TEST(Weft, MtpIsPlannedAtEveryLevelButNotTrained) {
  for (const char* verb : {"schedule", "schedule --level transfers", "schedule --level steps"}) {
    const WeftRun run = run_weft(small(verb + std::string(" --mtp-num-layers 1 --num-layers 4")));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  const WeftRun steps =
      run_weft(small("schedule --mtp-num-layers 1 --num-layers 4 --level steps --format csv"));
  EXPECT_THAT(steps.out, HasSubstr("mtp_projection.4"));
  EXPECT_THAT(steps.out, HasSubstr("mtp_head.4"));
}

// Where the MTP layers sit, and how: all levels, both placements, with wires and woven.
TEST_F(ScheduleFile, MtpLayersAreSimulatedWhereverTheyAre) {
  write("costs.toml", "[wires]\ndispatch = 0.5\nsend_forward = 0.1\n");
  const std::string sizes =
      " --pipeline-model-parallel-size 2 --num-microbatches 6 --num-layers 8 --num-experts 4 "
      "--moe-fb-overlap --overlap-outside-steady --data-parallel-size 2 --overlap-grad-reduce ";
  for (const char* method : {"interleaved", "dualpipev", "zb-v", "auto"}) {
    for (const std::string layout :
         {"Ett|tt|ttt|tmL", "Ettt|ttttt|mm|L", "Etttttttt|m||mL", "Ettt|tttttm|m|L"}) {
      std::string words = std::string("--schedules-method ") + method + sizes +
                          "--mtp-num-layers " + std::to_string(std::ranges::count(layout, 'm')) +
                          " --pipeline-model-parallel-layout '" + layout + "'";
      SCOPED_TRACE(words);
      const std::string_view name = method;
      if (name == "zb-v") words.replace(words.find("--moe-fb-overlap"), 41, "");
      const WeftRun steps = run("schedule --level steps " + words);
      EXPECT_EQ(steps.exit_code, 0) << steps.err;
      const WeftRun simulated = run("simulate --costs costs.toml " + words);
      EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
    }
  }
}

TEST(Weft, LayoutSaysWhatDoesNotDivide) {
  const WeftRun run = run_weft("layout --pipeline-model-parallel-size 4 --num-layers 10");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("10 decoder layers do not divide by 4 stages"));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Whatever the verb: on standard error, once; a cut that the user wrote is no news.
TEST(Weft, SaysOnceWhatDoesNotDivide) {
  const std::string sizes =
      " --num-layers 10 --pipeline-model-parallel-size 4 --num-microbatches 4 ";
  const std::string ends =
      "--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 2 ";
  for (const std::string verb : {"schedule", "schedule --level steps", "simulate", "layout"}) {
    EXPECT_EQ(count_of(run_weft(verb + sizes).err, "do not divide"), 1U) << verb;
    EXPECT_EQ(count_of(run_weft(verb + sizes + ends).err, "7 decoder layers do not divide"), 1U)
        << verb;
  }
  const std::string plan =
      "plan --model mixtral-8x7b --format text --pipeline-model-parallel-size "
      "4 --num-microbatches 4 ";
  const WeftRun chosen = run_weft(plan + "--num-layers 10");
  EXPECT_EQ(count_of(chosen.out + chosen.err, "do not divide"), 1U);
  const WeftRun written =
      run_weft(plan + "--num-layers 10 --pipeline-model-parallel-layout 'Ett|ttt|ttt|ttL'");
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(count_of(written.out + written.err, "divide"), 0U);
}

// The layers' flags are judged alike, whether a verb needs to know the layers or not.
TEST(Weft, EveryVerbRefusesLayersThatAreNot) {
  for (const std::string flags :
       {"--moe-layer-freq x", "--moe-layer-freq '[0,1'", "--num-layers 3 --moe-layer-freq '[0,1]'",
        "--num-experts 4 --num-layers 3 --first-k-dense-replace 5",
        "--num-layers 3 --noop-layers 3"}) {
    for (const std::string verb :
         {"layout", "schedule --num-microbatches 2", "simulate --num-microbatches 2",
          "plan --model mixtral-8x7b --num-microbatches 2"}) {
      const WeftRun run = run_weft(verb + " " + flags);
      EXPECT_EQ(run.exit_code, 2) << verb << " " << flags;
      EXPECT_EQ(run.out, "");
    }
  }
}

TEST_F(ScheduleFile, IsTheScheduleThatWasPrinted) {
  for (const std::string name :
       {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipev"}) {
    SCOPED_TRACE(name);
    const std::string sizes = " --pipeline-model-parallel-size 3 --num-microbatches 5";
    const std::string built = " --schedules-method " + name + sizes;
    ASSERT_EQ(run("schedule --output compute.csv" + built).exit_code, 0);
    ASSERT_EQ(run("schedule --output transfers.csv --level transfers" + built).exit_code, 0);
    for (const std::string level : {"compute", "transfers"}) {
      const WeftRun expected = run("schedule --level " + level + built);
      for (const std::string file : {"compute.csv", "transfers.csv"}) {
        const WeftRun found = run("schedule --level " + level + " --schedules-method " + file);
        EXPECT_EQ(found.exit_code, 0) << found.err;
        EXPECT_EQ(found.out, expected.out) << file;
        EXPECT_EQ(found.err, "") << file;
      }
    }
    const std::string costs = " --cost-p2p 0.5 --events";
    const WeftRun expected = run("simulate" + built + costs);
    for (const std::string file : {"compute.csv", "transfers.csv"}) {
      EXPECT_EQ(run("simulate --schedules-method " + file + costs).out, expected.out) << file;
      EXPECT_EQ(run("schedule --format text --schedules-method " + file + sizes).out,
                run("schedule --format text" + built).out);
    }
  }
}

TEST_F(ScheduleFile, PlacementFollowsFromItsStages) {
  write("v.csv", "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  write("looped.csv", "0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n");
  for (const std::string placement : {"v", "looped"}) {
    const std::string file = " --schedules-method " + placement + ".csv";
    const auto json = nlohmann::json::parse(run("schedule --format json" + file).out);
    EXPECT_EQ(json["placement"], placement);
    EXPECT_EQ(json["num_stages"], 4);
    const auto layout = nlohmann::json::parse(run("layout --num-layers 8" + file).out);
    EXPECT_EQ(layout["stages"][2]["rank"], placement == "v" ? 1 : 0);
    EXPECT_EQ(run("schedule --level steps --num-layers 8 --num-experts 4" + file).exit_code, 0);
  }
}

TEST_F(ScheduleFile, PairsRunWithAndWithoutOverlap) {
  write("pair.csv", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
  const std::string steps = "schedule --level steps --num-experts 4 --schedules-method pair.csv";
  const WeftRun apart = run(steps);
  const WeftRun woven = run(steps + " --moe-fb-overlap");
  EXPECT_EQ(apart.exit_code, 0);
  EXPECT_EQ(woven.exit_code, 0) << woven.err;
  EXPECT_NE(apart.out, woven.out);
}

TEST_F(ScheduleFile, WhatCannotRunIsExitCode3WithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0F0,0B0\n1B0,1F0\n", "rank 1 cell 1 (1B0)"},
      {"0F0,0F1,0B0,0B1\n1F0,1B0,1F1\n", "1B1 is missing"},
      {"0F0,0I0,0W0\n1F0,1W0,1I0\n", "rank 1 cell 2 (1W0)"},
      {"(0F0;0B0)OVERLAP_F_B\n", "rank 0 cell 1 ((0F0;0B0)OVERLAP_F_B)"},
      {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n", "1RECV_F0 is missing"},
      {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n", "rank 1 cell 2 (1RECV_F0)"},
      {"0F0,0REDUCE_GRAD,0B0\n", "rank 0 cell 2 (0REDUCE_GRAD)"},
  };
  for (const auto& [text, place] : cases) {
    write("broken.csv", text);
    for (const std::string verb : {"schedule", "simulate", "layout", "schedule --level steps"}) {
      const WeftRun found = run(verb + " --schedules-method broken.csv");
      EXPECT_EQ(found.exit_code, 3) << text;
      EXPECT_EQ(found.out, "");
      EXPECT_THAT(found.err, HasSubstr(place));
    }
  }
}

TEST_F(ScheduleFile, FallingWeightGradientsRunWithAWarning) {
  write("falling.csv", "0F0,0F1,0B1,0B0\n");
  const WeftRun found = run("simulate --schedules-method falling.csv");
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.err, HasSubstr("falling.csv: 0B1 runs before 0B0"));
  EXPECT_THAT(found.err, HasSubstr("digests may differ"));
  const std::string words = "simulate --schedules-method falling.csv";
  EXPECT_EQ(run_weft(words, folder_, "RANK=0").err, found.err);
  EXPECT_EQ(run_weft(words, folder_, "RANK=1").err, "");
}

// F = 1, B = 2 on two ranks: rank 0 does F0 F1, waits for B0 of rank 1 (1 + 1 + 2 = 4), ends at 9.
TEST(Weft, SimulateGivesTheDocumentedShape) {
  const WeftRun run = run_weft(small("simulate --format json --events"));
  EXPECT_EQ(run.exit_code, 0);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["makespan"], 9.0);
  EXPECT_THAT(run.out, HasSubstr("\"makespan\": 9.0"));
  const auto& rank = json["ranks"][0];
  EXPECT_EQ(rank["rank"], 0);
  EXPECT_EQ(rank["busy"], 6.0);
  EXPECT_EQ(rank["idle"], 3.0);
  EXPECT_EQ(rank["bubble"], 3.0);
  EXPECT_EQ(rank["exposed_communication"], 0.0);
  EXPECT_EQ(rank["peak_live_chunks"], 2);
  EXPECT_EQ(rank["max_pending_wgrads"], 0);
  EXPECT_EQ(rank["events"][2], nlohmann::json({{"action", "0B0"}, {"start", 4.0}, {"end", 6.0}}));
  const auto plain = nlohmann::json::parse(run_weft(small("simulate")).out);
  EXPECT_FALSE(plain["ranks"][0].contains("events"));
}

// As above, 100 bytes a micro-batch: rank 0 has two from 1 to 6, rank 1 one from 1 to 7.
TEST(Weft, SimulateShowsMemoryOverTime) {
  const std::string file = testing::TempDir() + "weft_bytes_" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << "[bytes]\nstage = { activation = 100 }\n";
  const std::string words = small("simulate --costs " + file);
  const auto json = nlohmann::json::parse(run_weft(words + " --format json --events").out);
  const auto& ranks = json["ranks"];
  EXPECT_EQ(ranks[0]["peak_activation_bytes"], 200);
  EXPECT_EQ(ranks[1]["peak_activation_bytes"], 100);
  EXPECT_EQ(ranks[0]["activation_bytes"],
            nlohmann::json::parse("[[0.0, 100], [1.0, 200], [6.0, 100], [9.0, 0]]"));
  EXPECT_EQ(ranks[0]["live_chunks"],
            nlohmann::json::parse("[[0.0, 1], [1.0, 2], [6.0, 1], [9.0, 0]]"));
  EXPECT_EQ(ranks[1]["activation_bytes"], nlohmann::json::parse("[[1.0, 100], [7.0, 0]]"));
  EXPECT_THAT(run_weft(words + " --format text").out,
              AllOf(HasSubstr("peak bytes\n"), HasSubstr(" 200 B\n"), HasSubstr(" 100 B\n")));
  EXPECT_THAT(run_weft(words + " --format html").out, HasSubstr("\"unit\":\"bytes\""));
  // At the steps level of one layer a stage: the same chunks, so the same peaks.
  const auto steps = nlohmann::json::parse(run_weft(words + " --level steps --format json").out);
  EXPECT_EQ(steps["ranks"][0]["peak_activation_bytes"], 200);
  // Nothing is said of bytes that are not known.
  const auto plain = nlohmann::json::parse(run_weft(small("simulate --events")).out);
  EXPECT_FALSE(plain["ranks"][0].contains("peak_activation_bytes"));
  EXPECT_FALSE(plain["ranks"][0].contains("activation_bytes"));
  EXPECT_TRUE(plain["ranks"][0].contains("live_chunks"));
  std::filesystem::remove(file);
}

// A plan above a limit is refused with what is held, when, and where, at every level.
TEST(Weft, HoldsPlansToMemoryLimits) {
  const WeftRun fits = run_weft(small("schedule --max-live-chunks 2"));
  EXPECT_EQ(fits.exit_code, 0);
  EXPECT_EQ(fits.out, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  for (const char* words : {"simulate", "schedule", "schedule --level transfers",
                            "schedule --level steps", "simulate --level steps",
                            "simulate --level transfers"}) {
    SCOPED_TRACE(words);
    const WeftRun run = run_weft(small(std::string(words) + " --max-live-chunks 1"));
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(HasSubstr("verify_limits: rank 0 "), HasSubstr(" at "),
                               HasSubstr("2 live chunks, the limit is 1"), HasSubstr("[0F1")));
  }
  const std::string model =
      " --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --vocab-size 100";
  for (const char* words : {"simulate", "schedule --level transfers", "simulate --level steps",
                            "plan"}) {
    SCOPED_TRACE(words);
    const WeftRun run = run_weft(small(words + model + " --max-activation-bytes 1e5"));
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_THAT(run.err, AllOf(HasSubstr(" bytes, the limit is 100000; the rank's peak is ")));
    EXPECT_EQ(run_weft(small(words + model + " --max-activation-bytes 1e9")).exit_code, 0);
  }
  const WeftRun detached = run_weft(
      "simulate --schedules-method dualpipev --dualpipev-dw-detach --max-pending-wgrads 1 "
      "--pipeline-model-parallel-size 2 --num-microbatches 4");
  EXPECT_EQ(detached.exit_code, 3);
  EXPECT_THAT(detached.err, HasSubstr("2 pending W's, the limit is 1"));
}

// Spec section 1: with P = 4, M = 10, F = I = W = 1, pair 3, detached, a rank is idle for 6 of 66.
TEST(Weft, SimulatesDualpipevAsDocumented) {
  const auto json =
      nlohmann::json::parse(run_weft("simulate --schedules-method dualpipev --dualpipev-dw-detach "
                                     "--pipeline-model-parallel-size 4 --num-microbatches 10")
                                .out);
  EXPECT_EQ(json["makespan"], 66.0);
  for (const auto& rank : json["ranks"]) EXPECT_EQ(rank["idle"], 6.0);
}

TEST(Weft, DrawsSchedulesAndSimulations) {
  const std::string svg = run_weft(small("schedule --format svg")).out;
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("<title>1B1, "));
  for (const char* words : {"schedule --format html", "simulate --format html",
                            "schedule --level transfers --cost-p2p 1 --format html",
                            "schedule --level steps --num-experts 4 --format html"}) {
    const WeftRun run = run_weft(small(words));
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(run.out, HasSubstr("1f1b, P = 2, M = 2"));
  }
  EXPECT_THAT(run_weft(small("schedule --level steps --num-experts 4 --format svg")).out,
              HasSubstr(">dispatch</text>"));
  EXPECT_THAT(run_weft(small("schedule --level transfers --cost-p2p 1 --format svg")).out,
              HasSubstr(">P2P forward</text>"));
}

// With a hand-over of 1 rank 1 runs 1F0 from 2 and ends its backwards at 5 and 8: rank 0 has them
// at 6 and 9, each under way for 1 while it waits.
TEST(Weft, SimulatesTransfers) {
  const auto json = nlohmann::json::parse(
      run_weft(small("simulate --level transfers --cost-p2p 1 --format json")).out);
  EXPECT_EQ(json["makespan"], 11.0);
  EXPECT_EQ(json["ranks"][0]["exposed_communication"], 2.0);
  EXPECT_EQ(json["ranks"][0]["bubble"], 3.0);
  EXPECT_EQ(json["ranks"][0]["peak_live_chunks"], 2);
}

// The costs of a simulated run, read off its timeline, simulate to the same step.
TEST(Weft, ReportWritesCostsThatSimulateTheSame) {
  const std::string base = testing::TempDir() + "weft_report_" + std::to_string(getpid());
  std::ofstream(base + ".toml") << R"(unit = "ms"
[segments]
attention = { forward = 3.0, dgrad = 3.5, wgrad = 2.0 }
moe_attention = { forward = 2.0, dgrad = 2.5, wgrad = 1.0 }
mlp = { forward = 1.0, dgrad = 1.0, wgrad = 0.5 }
experts = { forward = 4.0, dgrad = 4.0, wgrad = 4.25 }
[wires]
dispatch = 1.5
combine = 1.25
send_forward = 0.25
recv_forward = 0.5
)";
  const std::string plan =
      small("simulate --num-layers 4 --num-experts 4 --first-k-dense-replace 1 ");
  const WeftRun first =
      run_weft(plan + " --costs " + base + ".toml --timeline " + base + ".json --format json");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string measured = base + "_measured.toml";
  const WeftRun report =
      run_weft("report --timeline " + base + ".json --costs " + measured + " --format json");
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const WeftRun second = run_weft(plan + " --costs " + measured + " --format json");
  EXPECT_EQ(second.out, first.out);
  const double makespan = nlohmann::json::parse(first.out)["makespan"];
  EXPECT_EQ(nlohmann::json::parse(report.out)["figures"]["step_ms"]["median"], makespan);

  const WeftRun beside =
      run_weft("report --timeline " + base + ".json --predicted " + base + ".json --format json");
  EXPECT_EQ(nlohmann::json::parse(beside.out)["differences"].size(), 0U);
  for (const char* end : {".toml", ".json", "_measured.toml"}) std::filesystem::remove(base + end);
}

TEST(Weft, LayoutShowsWhoHoldsWhat) {
  const WeftRun run = run_weft("layout 'Ett|tt|ttt|tmL' --pipeline-model-parallel-size 2");
  EXPECT_EQ(run.exit_code, 0);
  const auto stages = nlohmann::json::parse(run.out)["stages"];
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_EQ(stages[0], nlohmann::json::parse(R"({"stage": 0, "rank": 0, "chunk": 0, "text": "Ett",
      "embedding": true, "decoder_layers": [0, 1], "dense_layers": [0, 1], "moe_layers": [],
      "noop_layers": [], "mtp_layers": [], "loss": false})"));
  EXPECT_EQ(stages[3], nlohmann::json::parse(R"({"stage": 3, "rank": 1, "chunk": 1, "text": "tmL",
      "embedding": false, "decoder_layers": [7], "dense_layers": [7], "moe_layers": [],
      "noop_layers": [], "mtp_layers": [0], "loss": true})"));
  const auto v = nlohmann::json::parse(
      run_weft("layout --num-layers 8 --pipeline-model-parallel-size 2 --placement v").out);
  EXPECT_EQ(v["stages"][2]["rank"], 1);
  EXPECT_EQ(v["stages"][3]["rank"], 0);
}

// Layers 0 and 5 do nothing, the first two others are dense, an MTP layer stands at the end.
TEST(Weft, LayoutTellsKindsOfLayersApart) {
  EXPECT_EQ(run_weft("layout 'Ett|tt|t|tmL' --pipeline-model-parallel-size 4 --num-experts 4 "
                     "--first-k-dense-replace 3 --noop-layers 0,5 --format text")
                .out,
            "stage  rank  chunk  text  dense  MoE  noop  MTP\n"
            "0      0     0      Ett   1      -    0     -\n"
            "1      1     0      tt    2      3    -     -\n"
            "2      2     0      t     -      4    -     -\n"
            "3      3     0      tmL   -      -    5     0\n");
}

TEST(Weft, LayoutFitsATerminalWhateverTheLayers) {
  const WeftRun run =
      run_weft("layout --num-layers 200 --num-experts 4 --moe-layer-freq 2 --format text");
  EXPECT_THAT(run.out, HasSubstr("Et*200L"));
  for (std::size_t at = 0; at < run.out.size(); at = run.out.find('\n', at) + 1) {
    ASSERT_LE(run.out.find('\n', at) - at, 80U);
  }
}

TEST(Weft, ReadsEnvironmentAndFile) {
  const std::string file = testing::TempDir() + "weft_run.toml";
  std::ofstream(file) << "num-microbatches = 5\npipeline_model_parallel_size = 2\n";
  EXPECT_EQ(run_weft("schedule --config " + file).out,
            "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0F4,0B3,0B4\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3,1F4,1B4\n");
  EXPECT_EQ(run_weft("schedule --config " + file, ".", "WEFT_NUM_MICROBATCHES=1").out,
            "0F0,0B0\n1F0,1B0\n");
  EXPECT_EQ(
      run_weft("schedule --num-microbatches 1 --config " + file, ".", "WEFT_NUM_MICROBATCHES=3")
          .out,
      "0F0,0B0\n1F0,1B0\n");
  std::filesystem::remove(file);
}

TEST(Weft, WritesAResultToAFileOrLeavesNone) {
  const std::string file = testing::TempDir() + "weft_run_result.csv";
  std::filesystem::remove(file);
  const WeftRun refused = run_weft(small("schedule --moe-fb-overlap --output " + file));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(file));
  const WeftRun done = run_weft(small("schedule --output " + file));
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(slurp(file), run_weft(small("schedule")).out);
  std::filesystem::remove(file);
}

TEST(Weft, AFullDiskIsAFault) {
  const WeftRun run = run_weft(small("schedule"), ".", "", ">/dev/full");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, StartsWith("weft: error: cannot write to standard output"));
  EXPECT_EQ(run_weft(small("schedule --output /dev/full")).exit_code, 1);
}

TEST(Weft, AReaderThatGoesAwayIsNoFault) {
  const std::string many =
      "simulate --events --pipeline-model-parallel-size 16 "
      "--num-microbatches 500 ";
  const std::string command = std::string("set -o pipefail; '") + WEFT_BINARY + "' " + many +
                              "2>/dev/null | head -c 1 >/dev/null";
  EXPECT_EQ(std::system(("bash -c \"" + command + "\"").c_str()), 0);
}

TEST(Weft, ColourIsForTerminals) {
  EXPECT_EQ(run_weft("nonsense").err.find('\033'), std::string::npos);
}

// The parser knows which schedules exist before the table of builders is in sight: they must agree.
TEST(Weft, ParserAndBuildersKnowTheSameSchedules) {
  const FlagTraits& traits = find_flag("schedules-method")->traits;
  for (const ScheduleEntry& entry : schedule_table()) {
    EXPECT_THAT(traits.choices, testing::Contains(std::string(entry.name)));
    EXPECT_EQ(is_v_schedule(entry.name), entry.placement == Placement::V) << entry.name;
    EXPECT_EQ(has_pairs(entry.name), entry.has_pairs) << entry.name;
    EXPECT_EQ(has_one_chunk(entry.name), entry.chunks == 1) << entry.name;
  }
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string random_word(std::mt19937& random) {
  static const std::vector<std::string> kWords = {"0",
                                                  "1",
                                                  "2",
                                                  "3",
                                                  "-1",
                                                  "1e9",
                                                  "",
                                                  "--",
                                                  "-",
                                                  "-x",
                                                  "=",
                                                  "--=",
                                                  "x=y",
                                                  "Et|tL",
                                                  "t*9|",
                                                  "((",
                                                  "true",
                                                  "99999999999999999999",
                                                  "nan",
                                                  "[0,1]",
                                                  "v",
                                                  "dualpipev",
                                                  "interleaved",
                                                  "text",
                                                  "steps",
                                                  "json",
                                                  "\xff\xfe",
                                                  "--num-layers=",
                                                  "--help=1"};
  const auto& flags = flag_table();
  if (random() % 2 == 0) return kWords[random() % kWords.size()];
  return "--" + std::string(flags[random() % flags.size()].name) +
         (random() % 4 == 0 ? "=" + kWords[random() % kWords.size()] : "");
}

TEST(Weft, ArgumentsWithoutSenseNeverCrashIt) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string folder = testing::TempDir() + "weft_fuzz_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 60; ++i) {
    const char* verbs[] = {"schedule", "simulate", "layout",  "report",
                           "sample",   "data",     "nonsense"};
    std::string words = verbs[random() % std::size(verbs)];
    for (unsigned n = random() % 8; n > 0; --n) words += " " + quoted(random_word(random));
    const WeftRun run = run_weft(words, folder);
    ASSERT_TRUE(run.exit_code == 0 || run.exit_code == 2 || run.exit_code == 1) << words;
    ASSERT_EQ(run.exit_code == 0, run.err.find("error") == std::string::npos) << words << run.err;
    if (run.exit_code != 0) {
      ASSERT_EQ(run.out, "") << words;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(Weft, HelpOfAVerb) {
  EXPECT_EQ(run_weft("help schedule").out, run_weft("schedule --help").out);
  EXPECT_EQ(run_weft("help").out, run_weft("--help").out);
  EXPECT_EQ(run_weft("help shedule").exit_code, 2);
}

TEST(Weft, TextsAreRounded) {
  const WeftRun run = run_weft(
      "simulate --pipeline-model-parallel-size 4 --num-microbatches 10 --cost-forward 0.9 "
      "--cost-dgrad 1.1 --cost-wgrad 0.7 --format text");
  EXPECT_THAT(run.out, StartsWith("makespan 35.1 units\n"));  // (10 + 3) * 2.7
}

// What is quoted reaches a terminal as text.
TEST(Weft, MessagesQuoteNoControlCharacters) {
  const std::string file = testing::TempDir() + "weft_run_control.csv";
  std::ofstream(file) << "0F0\x1b[2J\x07,0B0\n";
  const WeftRun run = run_weft("schedule --schedules-method " + file);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("`0F0\\x1b[2J\\x07`"));
  EXPECT_EQ(run.err.find('\x1b'), std::string::npos);
  std::filesystem::remove(file);
}

TEST(Weft, WarnsOfCostsThatFitNothing) {
  const std::string file = testing::TempDir() + "weft_run_costs.toml";
  std::ofstream(file) << "[stages]\n9 = { forward = 2.0 }\n[segments]\nmlp = { forward = 1.0 }\n";
  const WeftRun run = run_weft(
      "simulate --pipeline-model-parallel-size 2 --num-microbatches 2 --num-layers 2 --costs " +
      file);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("[segments] does not name embedding, attention, head"));
  EXPECT_THAT(run.err, HasSubstr("[stages] names 9, and there are 2 stages"));
  std::filesystem::remove(file);
}

// With one rank there are no groups, and nothing is sent; untied embeddings tie no ranks.
TEST(Weft, PlanTextsHaveNoEmptySections) {
  const WeftRun alone = run_weft("plan --model mixtral-8x7b --num-microbatches 1 --format text");
  EXPECT_THAT(alone.out, HasSubstr("on 1 rank: "));
  EXPECT_EQ(alone.out.find("groups of global ranks"), std::string::npos);
  const WeftRun untied = run_weft(
      "plan --model mixtral-8x7b --pipeline-model-parallel-size 2 --num-microbatches 2 "
      "--format text");
  EXPECT_THAT(untied.out, HasSubstr("groups of global ranks"));
  EXPECT_EQ(untied.out.find("\ntie "), std::string::npos);
}

}  // namespace
}  // namespace weft
