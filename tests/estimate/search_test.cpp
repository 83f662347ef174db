#include "estimate/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "estimate/models.h"
#include "estimate/plan_estimate.h"
#include "estimate/trials.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// The request of `weft plan --search WORDS`.
Request search_request(std::vector<std::string> words) {
  std::vector<Violation> violations;
  words.emplace_back("--search");
  Request request = read_request(Verb::Plan, words, {}, violations);
  take_model(request, violations);
  EXPECT_TRUE(violations.empty());
  return request;
}

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> words = {
      "--num-layers", "8",  "--hidden-size", "64", "--num-attention-heads", "4",
      "--seq-length", "64", "--vocab-size",  "97", "--num-experts",         "4",
      "--ranks",      "4"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Every way, lowered and simulated one by one, has no faster one than the search found.
TEST(Search, FindsWhatTryingEverythingFinds) {
  const Request request = search_request(small({"--global-batch-size", "16"}));
  const SearchReport report = search_runs(request, {});
  double fastest = 0;
  for (const Trial& trial : list_trials(request, {})) {
    const PlanEstimate estimate = estimate_plan(config_of(trial, request, {}));
    fastest = std::max(fastest, trial.tokens / estimate.metrics.makespan);
  }
  ASSERT_FALSE(report.best.empty());
  EXPECT_NEAR(report.best.front().rate(), fastest, 1e-9 * fastest);
  EXPECT_LT(report.simulated, report.tried);
}

TEST(Search, WhatIsGivenStays) {
  const SearchReport report = search_runs(
      search_request(small({"--pipeline-model-parallel-size", "2", "--schedules-method", "1f1b",
                            "--micro-batch-size", "2", "--global-batch-size", "16"})),
      {});
  for (const Trial& trial : report.best) {
    EXPECT_EQ(trial.pipeline_size, 2);
    EXPECT_EQ(trial.schedule, "1f1b");
    EXPECT_EQ(trial.micro_batch_size, 2);
    EXPECT_EQ(trial.num_micro_batches, 4);
  }
  EXPECT_EQ(report.tried, 2);  // one and two expert parallel ranks
}

TEST(Search, NothingThatDoesNotFitIsShown) {
  const Request request =
      search_request({"--model", "mixtral-8x7b", "--ranks", "16", "--bf16", "--memory-gib", "80",
                      "--global-batch-size", "32", "--schedules-method", "1f1b"});
  const SearchReport report = search_runs(request, {});
  for (const Trial& trial : report.best) EXPECT_LE(trial.bytes, 80LL << 30);
  std::string thrown;
  for (const ThrownOut& out : report.thrown_out) thrown += out.reason + "\n";
  EXPECT_THAT(thrown, HasSubstr("weights, gradients and optimizer state alone do not fit"));
  int counted = static_cast<int>(report.best.size());
  for (const ThrownOut& out : report.thrown_out) counted += out.count;
  EXPECT_EQ(counted, report.tried);
}

TEST(Search, TellsHowFarItIs) {
  std::vector<SearchProgress> told;
  const SearchReport report =
      search_runs(search_request(small({"--global-batch-size", "16"})), {},
                  [&](const SearchProgress& progress) { told.push_back(progress); });
  ASSERT_EQ(told.size(), static_cast<std::size_t>(report.tried + report.simulated));
  EXPECT_EQ(told.front().looked_at, 1);
  EXPECT_EQ(told.front().tried, report.tried);
  EXPECT_EQ(told.back().looked_at, report.tried);
  EXPECT_EQ(told.back().simulated, report.simulated);
  EXPECT_GE(told.back().most_simulated, report.simulated);
}

TEST(Search, NothingToTryIsRefused) {
  const Request request =
      search_request(small({"--global-batch-size", "3", "--pipeline-model-parallel-size", "1"}));
  EXPECT_THROW(search_runs(request, {}), UserError);
}

// The flags of the first, asked for on their own, give the same step.
TEST(Search, ItsFlagsAskForTheSameRun) {
  const SearchReport report = search_runs(search_request(small({"--global-batch-size", "16"})), {});
  std::vector<std::string> words = small({});
  std::istringstream flags(flags_of(report.best.front()));
  for (std::string word; flags >> word;) words.push_back(word);
  const PlanEstimate estimate = estimate_plan(testing::plan_config(words));
  EXPECT_DOUBLE_EQ(estimate.metrics.makespan, *report.best.front().makespan);
}

}  // namespace
}  // namespace weft
