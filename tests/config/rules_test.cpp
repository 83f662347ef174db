#include "config/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/flag.h"

namespace weft {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Violation> violations_of(Verb verb, const std::vector<std::string>& arguments,
                                     const RunFacts& facts = {}) {
  std::vector<Violation> violations;
  const Request request = read_request(verb, arguments, {}, violations);
  EXPECT_THAT(violations, IsEmpty());
  return check(request, facts);
}

std::vector<std::string> broken(Verb verb, const std::vector<std::string>& arguments,
                                const RunFacts& facts = {}) {
  std::vector<std::string> rules;
  for (const Violation& violation : violations_of(verb, arguments, facts)) {
    rules.push_back(violation.rule);
  }
  return rules;
}

// `schedule` on P ranks with 8 micro-batches.
std::vector<std::string> broken_schedule(int ranks, std::vector<std::string> arguments,
                                         const RunFacts& facts = {}) {
  arguments.insert(arguments.end(), {"--pipeline-model-parallel-size", std::to_string(ranks),
                                     "--num-microbatches", "8"});
  return broken(Verb::Schedule, arguments, facts);
}

const std::vector<std::string> kTrain = {"--num-layers",          "4",   "--hidden-size", "32",
                                         "--num-attention-heads", "4",   "--seq-length",  "8",
                                         "--vocab-size",          "64",  "--train-iters", "3",
                                         "--data-path",           "text"};

std::vector<std::string> broken_train(std::vector<std::string> arguments,
                                      const RunFacts& facts = {}) {
  arguments.insert(arguments.end(), kTrain.begin(), kTrain.end());
  return broken(Verb::Train, arguments, facts);
}

TEST(Rules, NamesAreUniqueAndReadKnownFlags) {
  std::set<std::string_view> names;
  for (const Rule& rule : rule_table()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(rule.verdict != Verdict::Lifted || rule.check == nullptr) << rule.name;
    EXPECT_TRUE(rule.verdict != Verdict::Own || rule.check != nullptr) << rule.name;
    EXPECT_EQ(rule.verdict == Verdict::Own, rule.original.empty()) << rule.name;
    EXPECT_EQ(rule.verdict == Verdict::Own, rule.weft.empty()) << rule.name;
    std::string flags(rule.flags);
    for (std::size_t at = 0; at < flags.size();) {
      const std::size_t end = std::min(flags.find(' ', at), flags.size());
      EXPECT_NE(find_flag(flags.substr(at, end - at)), nullptr) << rule.name;
      at = end + 1;
    }
  }
}

TEST(Rules, RanksAndMicroBatchesAreEnough) {
  EXPECT_THAT(broken_schedule(4, {}), IsEmpty());
  EXPECT_THAT(broken_schedule(4, {"--schedules-method", "interleaved", "--moe-fb-overlap"}),
              IsEmpty());
  EXPECT_THAT(broken_schedule(1, {"--moe-fb-overlap"}), IsEmpty());
  EXPECT_THAT(broken_schedule(1, {"--moe-fb-overlap", "--schedules-method", "1f1b"}), IsEmpty());
  EXPECT_THAT(broken_schedule(1, {"--schedules-method", "dualpipev", "--dualpipev-dw-detach"}),
              IsEmpty());
}

TEST(Rules, NumberOfMicroBatchesHasToBeKnown) {
  EXPECT_THAT(broken(Verb::Schedule, {}), ElementsAre("micro-batches-known"));
  EXPECT_THAT(broken(Verb::Schedule, {"--global-batch-size", "8"}),
              ElementsAre("micro-batches-known"));
  EXPECT_THAT(broken(Verb::Schedule, {"--global-batch-size", "8", "--micro-batch-size", "2"}),
              IsEmpty());
  EXPECT_THAT(broken(Verb::Layout, {}), IsEmpty());
}

TEST(Rules, BatchSizesDivide) {
  const std::vector<std::string> sizes = {"--global-batch-size",  "10", "--micro-batch-size", "2",
                                          "--data-parallel-size", "2"};
  EXPECT_THAT(
      violations_of(Verb::Schedule, sizes),
      ElementsAre(Violation{"batch-divides", "--global-batch-size 10 and --micro-batch-size 2",
                            "10 is no multiple of 4 (micro-batch size * data parallel "
                            "size 2)"}));
  EXPECT_THAT(broken_schedule(1, {"--global-batch-size", "9"}), ElementsAre("batch-agrees"));
  EXPECT_THAT(broken_schedule(1, {"--global-batch-size", "16", "--micro-batch-size", "2"}),
              IsEmpty());
}

TEST(Rules, OverlapNeedsPairs) {
  EXPECT_THAT(broken_schedule(2, {"--moe-fb-overlap"}), ElementsAre("overlap-needs-pairs"));
  EXPECT_THAT(
      broken_schedule(2, {"--moe-fb-overlap", "--num-virtual-stages-per-pipeline-rank", "2"}),
      IsEmpty());
  EXPECT_THAT(broken_schedule(2, {"--moe-fb-overlap"}, {.layout_stages = 4}), IsEmpty());
}

TEST(Rules, DetachNeedsDualpipev) {
  EXPECT_THAT(broken_schedule(2, {"--dualpipev-dw-detach"}), ElementsAre("detach-needs-dualpipev"));
}

// A looped file of two ranks with two chunks each and eight micro-batches.
TEST(Rules, FlagsAgreeWithTheScheduleOfAFile) {
  const RunFacts facts{.schedule_file = ScheduleFileFacts{2, 2, false, 8, false}};
  const auto broken_beside = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--schedules-method", "x.csv", "--num-microbatches", "8"});
    return broken(Verb::Schedule, arguments, facts);
  };
  EXPECT_THAT(broken_beside({}), IsEmpty());
  EXPECT_THAT(broken_beside({"--pipeline-model-parallel-size", "2",
                             "--num-virtual-stages-per-pipeline-rank", "2"}),
              IsEmpty());
  EXPECT_THAT(broken_beside({"--pipeline-model-parallel-size", "4"}),
              ElementsAre("schedule-file-ranks"));
  EXPECT_THAT(broken_beside({"--num-virtual-stages-per-pipeline-rank", "3"}),
              ElementsAre("schedule-file-stages"));
  EXPECT_THAT(broken_beside({"--num-layers", "8", "--num-layers-per-virtual-pipeline-stage", "4"}),
              ElementsAre("schedule-file-stages"));
  EXPECT_THAT(broken_beside({"--moe-fb-overlap"}), ElementsAre("schedule-file-pairs"));
  EXPECT_THAT(broken_beside({"--dualpipev-dw-detach"}), ElementsAre("detach-needs-dualpipev"));
  EXPECT_THAT(
      broken(Verb::Schedule,
             {"--schedules-method", "x.csv", "--global-batch-size", "6", "--micro-batch-size", "1"},
             facts),
      ElementsAre("schedule-file-micro-batches"));
  RunFacts with_layout = facts;
  with_layout.layout_stages = 8;
  EXPECT_THAT(broken(Verb::Schedule, {"--schedules-method", "x.csv", "--num-microbatches", "8"},
                     with_layout),
              ElementsAre("schedule-file-stages"));
}

TEST(Rules, AFileMayHavePairsAndAV) {
  const RunFacts facts{.schedule_file = ScheduleFileFacts{1, 2, true, 8, true}};
  EXPECT_THAT(
      broken(Verb::Schedule,
             {"--schedules-method", "x.csv", "--num-microbatches", "8", "--moe-fb-overlap"}, facts),
      IsEmpty());
  EXPECT_THAT(broken(Verb::Layout, {"--schedules-method", "x.csv", "--placement", "v"}, facts),
              IsEmpty());
  EXPECT_THAT(broken(Verb::Layout, {"--schedules-method", "x.csv", "--placement", "looped"}, facts),
              ElementsAre("placement-agrees"));
}

TEST(Rules, TheVFixesItsChunks) {
  EXPECT_THAT(broken_schedule(2, {"--schedules-method", "dualpipev",
                                  "--num-virtual-stages-per-pipeline-rank", "2"}),
              ElementsAre("dualpipev-no-virtual-pipeline"));
  EXPECT_THAT(broken_schedule(2, {"--schedules-method", "dualpipev"}, {.layout_stages = 6}),
              ElementsAre("layout-stages"));
  EXPECT_THAT(broken_schedule(2, {"--schedules-method", "dualpipev"}, {.layout_stages = 4}),
              IsEmpty());
}

TEST(Rules, ChunksFitTheSchedule) {
  EXPECT_THAT(broken_schedule(
                  2, {"--schedules-method", "1f1b", "--num-virtual-stages-per-pipeline-rank", "2"}),
              ElementsAre("schedule-chunks"));
  EXPECT_THAT(broken_schedule(2, {"--schedules-method", "interleaved",
                                  "--num-virtual-stages-per-pipeline-rank", "1"}),
              ElementsAre("schedule-chunks"));
  EXPECT_THAT(broken_schedule(2, {"--schedules-method", "no-pipeline"}),
              ElementsAre("no-pipeline-one-rank"));
  EXPECT_THAT(broken_schedule(2, {"--microbatch-group-size-per-virtual-pipeline-stage", "2"}),
              ElementsAre("group-size-needs-interleaved"));
}

TEST(Rules, VirtualPipelineFlags) {
  const std::string stages = "--num-virtual-stages-per-pipeline-rank";
  const std::string layers = "--num-layers-per-virtual-pipeline-stage";
  EXPECT_THAT(broken_schedule(2, {stages, "2", layers, "2", "--num-layers", "8"}),
              ElementsAre("virtual-flags-exclusive"));
  EXPECT_THAT(broken_schedule(2, {layers, "2"}), ElementsAre("virtual-layers-need-layers"));
  EXPECT_THAT(broken_schedule(2, {layers, "2", "--num-layers", "10"}), IsEmpty());
  EXPECT_THAT(broken_schedule(2, {layers, "2", "--num-layers", "8"}), IsEmpty());
  EXPECT_THAT(broken_schedule(2, {stages, "2", "--pipeline-model-parallel-layout", "Et|t|t|L"},
                              {.layout_stages = 4}),
              ElementsAre("layout-excludes-virtual-flags"));
  EXPECT_THAT(broken_schedule(2, {}, {.layout_stages = 3}), ElementsAre("layout-stages"));
}

TEST(Rules, OutsideSteadyNeedsTheOverlap) {
  EXPECT_THAT(broken_schedule(1, {"--overlap-outside-steady"}),
              ElementsAre("outside-steady-needs-overlap"));
  EXPECT_THAT(broken_schedule(1, {"--overlap-outside-steady", "--moe-fb-overlap"}), IsEmpty());
  EXPECT_THAT(broken_schedule(1, {"--overlap-grad-reduce", "--moe-fb-overlap"}), IsEmpty());
}

TEST(Rules, SizesOfTheModel) {
  EXPECT_THAT(broken_schedule(1, {"--hidden-size", "10", "--num-attention-heads", "4"}),
              ElementsAre("heads-divide-hidden"));
  EXPECT_THAT(broken_schedule(1, {"--hidden-size", "12", "--num-attention-heads", "4"}),
              ElementsAre("head-size-even"));
  EXPECT_THAT(broken_schedule(1, {"--num-attention-heads", "4", "--num-query-groups", "3"}),
              ElementsAre("groups-divide-heads"));
  EXPECT_THAT(broken_schedule(1, {"--num-layers", "4", "--noop-layers", "0,4"}),
              ElementsAre("noop-layers-exist"));
  EXPECT_THAT(broken_schedule(1, {"--num-layers", "4", "--noop-layers", "[0, 3]"}), IsEmpty());
}

TEST(Rules, SizesOfExperts) {
  EXPECT_THAT(broken_schedule(1, {"--num-experts", "6", "--expert-model-parallel-size", "4"}),
              ElementsAre("experts-divide"));
  EXPECT_THAT(broken_schedule(1, {"--num-experts", "8", "--expert-model-parallel-size", "2",
                                  "--data-parallel-size", "3"}),
              ElementsAre("expert-ranks-divide-data"));
  EXPECT_THAT(broken_schedule(1, {"--num-experts", "1"}), IsEmpty());
  EXPECT_THAT(broken_schedule(1, {"--num-experts", "1", "--moe-router-topk", "2"}),
              ElementsAre("topk-within-experts"));
  EXPECT_THAT(broken_train({"--num-experts", "1", "--num-microbatches", "1"}),
              ElementsAre("topk-within-experts"));
  EXPECT_THAT(broken_train({"--expert-model-parallel-size", "2", "--num-microbatches", "1"}),
              ElementsAre("expert-ranks-need-experts"));
}

TEST(Rules, RanksFitTheSizes) {
  const std::vector<std::string> two = {"--pipeline-model-parallel-size", "2", "--num-microbatches",
                                        "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), two.begin(), two.end());
    return more;
  };
  EXPECT_THAT(broken_train(with({"--local-ranks", "4"})), IsEmpty());
  EXPECT_THAT(broken_train(with({"--local-ranks", "3"})), ElementsAre("ranks-fit-sizes"));
  EXPECT_THAT(broken_train(with({"--local-ranks", "4", "--data-parallel-size", "4"})),
              ElementsAre("ranks-fit-sizes"));
  EXPECT_THAT(broken_train(two, {.world_size = 5}), ElementsAre("ranks-fit-sizes"));
  EXPECT_THAT(broken_train(with({"--communicator", "nccl"})), ElementsAre("nccl-needs-cuda"));
}

TEST(Rules, WhatTrainingNeeds) {
  EXPECT_THAT(broken(Verb::Train, {"--num-microbatches", "1"}),
              ElementsAre("train-needs-sizes", "train-needs-iters", "train-needs-data"));
  EXPECT_THAT(broken(Verb::Train, {"--num-microbatches", "1", "--load", "model", "--train-iters",
                                   "1", "--token-file", "tokens"}),
              IsEmpty());
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--token-file", "x"}),
              ElementsAre("train-needs-data"));
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--min-lr", "1"}),
              ElementsAre("learning-rate-order"));
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--lr-warmup-iters", "9"}),
              ElementsAre("learning-rate-order"));
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--save-interval", "9"}),
              ElementsAre("save-interval-needs-save"));
}

TEST(Rules, OtherVerbs) {
  EXPECT_THAT(broken(Verb::Sample, {}), ElementsAre("sample-needs"));
  EXPECT_THAT(broken(Verb::Data, {"prepare"}), ElementsAre("data-needs"));
  EXPECT_THAT(broken(Verb::Layout, {"--format", "csv"}), ElementsAre("format-of-verb"));
  EXPECT_THAT(broken(Verb::Layout, {"--placement", "looped", "--schedules-method", "dualpipev"}),
              ElementsAre("placement-agrees"));
  EXPECT_THAT(
      broken(Verb::Simulate, {"--num-microbatches", "1", "--costs", "x", "--cost-p2p", "1"}),
      ElementsAre("one-cost-model"));
  EXPECT_THAT(broken(Verb::Train, {"--mtp-num-layers", "1"}), Contains("mtp-not-built-yet"));
  EXPECT_THAT(broken_schedule(1, {"--mtp-num-layers", "1"}), IsEmpty());
  EXPECT_THAT(broken(Verb::Layout, {"--mtp-num-layers", "1"}), IsEmpty());
}

TEST(Rules, FlagsOfLaunchScripts) {
  const std::string multiple = "--make-vocab-size-divisible-by";
  EXPECT_THAT(violations_of(Verb::Layout, {"--vocab-size", "50257", multiple, "128"}),
              ElementsAre(Violation{
                  "vocabulary-padding", multiple + " 128 and --vocab-size 50257",
                  "Megatron pads this vocabulary to 50304, Weft takes it as it is: add "
                  "--padded-vocab-size 50304 for a model of that size, or leave the flag out"}));
  EXPECT_THAT(broken(Verb::Layout, {"--vocab-size", "50304", multiple, "128"}), IsEmpty());
  EXPECT_THAT(broken(Verb::Layout,
                     {"--vocab-size", "50257", multiple, "128", "--padded-vocab-size", "50304"}),
              IsEmpty());
  EXPECT_THAT(broken(Verb::Layout, {"--norm-topk-prob", "--moe-router-pre-softmax"}),
              ElementsAre("normed-top-k"));
  EXPECT_THAT(broken(Verb::Layout, {"--norm-topk-prob"}), IsEmpty());
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--load", "x", "--no-load-optim"}),
              ElementsAre("load-is-whole"));
  EXPECT_THAT(broken_train({"--num-microbatches", "1", "--finetune"}), IsEmpty());
}

// A kept rule without a check is kept by a flag of its name, which is refused.
TEST(Rules, FlagsKeepTheRulesOfTheirNames) {
  for (const Rule& rule : original_rules()) {
    if (rule.verdict != Verdict::Kept || rule.check != nullptr) continue;
    const Flag* flag = find_flag(rule.name);
    ASSERT_NE(flag, nullptr) << rule.name;
    const std::string text = is_switch(*flag) ? "true" : "2";
    const std::optional<Violation> violation = refusal(*flag, text, "x");
    ASSERT_TRUE(violation.has_value()) << rule.name;
    EXPECT_EQ(violation->rule, rule.name);
  }
}

TEST(Rules, AValueThatWasRefusedBreaksNoFurtherRule) {
  std::vector<Violation> violations;
  const Request request = read_request(
      Verb::Schedule, {"--pipeline-model-parallel-size", "2", "--num-microbatches", "0"}, {},
      violations);
  EXPECT_EQ(violations.size(), 1U);
  EXPECT_THAT(check(request, {}), IsEmpty());
}

}  // namespace
}  // namespace weft
