#include "estimate/run_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "estimate/models.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::plan_request;

const std::vector<std::string> kSmall = {
    "--num-layers", "4",  "--hidden-size", "8", "--num-attention-heads", "2", "--seq-length", "4",
    "--vocab-size", "10", "--num-experts", "4", "--moe-ffn-hidden-size", "3"};

std::vector<std::string> small_with(std::vector<std::string> more) {
  more.insert(more.begin(), kSmall.begin(), kSmall.end());
  return more;
}

std::string notes_of(const RunReport& report) {
  std::string text;
  for (const std::string& note : report.notes) text += note + "\n";
  return text;
}

TEST(RunReport, SaysThatAllToAllStaysExposed) {
  const std::vector<std::string> words =
      small_with({"--pipeline-model-parallel-size", "2", "--num-microbatches", "4",
                  "--schedules-method", "dualpipev", "--expert-model-parallel-size", "2"});
  EXPECT_THAT(notes_of(make_run_report(plan_request(words), {})),
              HasSubstr("--moe-fb-overlap is off: the pairs of dualpipev run forward, then"));
  std::vector<std::string> with = words;
  with.emplace_back("--moe-fb-overlap");
  EXPECT_THAT(notes_of(make_run_report(plan_request(with), {})), Not(HasSubstr("moe-fb-overlap")));
}

TEST(RunReport, SaysWhatDoesNotDivide) {
  const RunReport report = make_run_report(
      plan_request(small_with({"--pipeline-model-parallel-size", "3", "--num-microbatches", "2"})),
      {});
  EXPECT_THAT(notes_of(report),
              HasSubstr("4 decoder layers do not divide by 3 stages and are spread, 1 or 2 each"));
}

TEST(RunReport, SaysWhatTrainingLacks) {
  const RunReport report =
      make_run_report(plan_request({"--model", "deepseek-v3", "--num-microbatches", "1"}), {});
  EXPECT_THAT(report.model.untrained, Contains("multi-head latent attention"));
  EXPECT_THAT(report.model.untrained, Contains("multi-token prediction layers"));
  EXPECT_THAT(notes_of(report), HasSubstr("`weft train` cannot run this model yet"));
  const RunReport plain =
      make_run_report(plan_request({"--model", "mixtral-8x7b", "--num-microbatches", "1"}), {});
  EXPECT_TRUE(plain.model.untrained.empty());
}

TEST(RunReport, SaysWhetherMemorySuffices) {
  const std::vector<std::string> words = {"--model", "mixtral-8x7b", "--num-microbatches", "1"};
  std::vector<std::string> little = words;
  little.insert(little.end(), {"--memory-gib", "80"});
  EXPECT_THAT(notes_of(make_run_report(plan_request(little), {})),
              HasSubstr("does not fit: of 80.0 GiB a rank, pipeline rank 0 needs"));
}

// FP32: weights, gradients and two means of 4 bytes; BF16 adds 2 bytes a weight, the router apart.
TEST(RunReport, BytesOfParameters) {
  ParameterCount count;
  count.attention = 100;
  count.router = 10;
  const MemoryReport fp32 = memory_of(count, element_bytes("fp32"), 7);
  EXPECT_EQ(fp32.weights, 440);
  EXPECT_EQ(fp32.gradients, 440);
  EXPECT_EQ(fp32.optimizer, 880);
  EXPECT_EQ(fp32.total(), 1767);
  EXPECT_EQ(memory_of(count, element_bytes("bf16"), 0).weights, 440 + 200);
  EXPECT_EQ(memory_of(count, element_bytes("fp64"), 0).total(), 4 * 880);
}

// Idle is bubble and what is exposed, and with busy the whole step.
TEST(RunReport, PartsOfTheStepAddUp) {
  const RunReport report = make_run_report(
      plan_request(small_with({"--pipeline-model-parallel-size", "2", "--num-microbatches", "5",
                               "--expert-model-parallel-size", "2"})),
      {});
  for (const PlannedRank& rank : report.ranks) {
    const RankMetrics& times = rank.times;
    EXPECT_NEAR(times.busy + times.bubble + times.exposed_communication, report.step.makespan,
                1e-9);
    EXPECT_NEAR(
        times.all_to_all_exposed + times.counts_exposed + times.p2p_exposed + times.reduce_exposed,
        times.exposed_communication, 1e-9);
  }
  EXPECT_EQ(report.step.tokens, 5 * 2 * 4);
}

TEST(RunReport, TellsWhereValuesCameFrom) {
  std::vector<Violation> violations;
  Request request = read_request(Verb::Plan, {"--model", "mixtral-8x7b", "--num-layers", "2"},
                                 {{"WEFT_NUM_MICROBATCHES", "3"}}, violations);
  take_model(request, violations);
  ASSERT_TRUE(violations.empty());
  const RunReport report = make_run_report(request, {});
  EXPECT_THAT(report.values,
              Contains(ValueSource{"num-layers", "2", "flag", "--num-layers", "32"}));
  EXPECT_THAT(report.values, Contains(ValueSource{"num-microbatches", "3", "environment",
                                                  "WEFT_NUM_MICROBATCHES", ""}));
  EXPECT_THAT(report.values, Contains(ValueSource{"hidden-size", "4096", "model",
                                                  "mixtral-8x7b: hidden_size", ""}));
  EXPECT_THAT(report.values, Contains(ValueSource{"global-batch-size", "3", "derived", "", ""}));
  EXPECT_THAT(report.values, Contains(ValueSource{"moe-z-loss-coeff", "0.0", "default", "", ""}));
}

TEST(RunReport, JsonHoldsTheSameNumbers) {
  const RunReport report = make_run_report(
      plan_request(small_with({"--pipeline-model-parallel-size", "2", "--num-microbatches", "2"})),
      {});
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["model"]["parameters"]["total"], report.model.total.total());
  EXPECT_EQ(json["model"]["layers"], "mmmm");
  ASSERT_EQ(json["ranks"].size(), 2U);
  EXPECT_EQ(json["ranks"][1]["bytes"]["total"], report.ranks[1].memory.total());
  EXPECT_EQ(json["ranks"][0]["layout"], (std::vector<std::string>{"Ett"}));
  EXPECT_EQ(json["step"]["makespan"], report.step.makespan);
  EXPECT_EQ(json["sizes"]["num_microbatches"], 2);
}

TEST(RunReport, TextFitsAPage) {
  const std::string text = report_text(
      make_run_report(plan_request({"--model", "qwen3-30b-a3b", "--pipeline-model-parallel-size",
                                    "4", "--num-microbatches", "4", "--ranks", "8",
                                    "--expert-model-parallel-size", "2"}),
                      {}));
  EXPECT_THAT(text, HasSubstr("parameters  30532122624 (30.5 G)"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(RunReport, TextFitsATerminal) {
  const RunReport report = make_run_report(
      plan_request({"--model", "deepseek-v3", "--pipeline-model-parallel-size", "8",
                    "--num-microbatches", "20", "--ranks", "128", "--expert-model-parallel-size",
                    "8", "--schedules-method", "dualpipev", "--swiglu", "--use-flash-attn"}),
      {});
  std::istringstream lines(report_text(report, 80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(notes_of(report), HasSubstr("no factor on the chosen"));
}

}  // namespace
}  // namespace weft
