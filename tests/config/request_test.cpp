#include "config/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/flag.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Outcome {
  Request request;
  std::vector<Violation> violations;
};

Outcome read(Verb verb, const std::vector<std::string>& arguments,
             const EnvironmentVariables& environment = {}) {
  Outcome outcome;
  outcome.request = read_request(verb, arguments, environment, outcome.violations);
  return outcome;
}

class TomlFile {
 public:
  explicit TomlFile(const std::string& text)
      : path_(testing::TempDir() + "weft_request_" + std::to_string(getpid()) + ".toml") {
    std::ofstream(path_) << text;
  }
  ~TomlFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ReadRequest, SetsFieldsOfEveryKind) {
  const Outcome outcome =
      read(Verb::Train, {"--num-layers", "8", "--lr=0.001", "--moe-fb-overlap", "--seed",
                         "5000000000", "--params-dtype", "fp64", "--num-microbatches=4"});
  EXPECT_THAT(outcome.violations, IsEmpty());
  const Config& config = outcome.request.config;
  EXPECT_EQ(config.model.num_layers, 8);
  EXPECT_EQ(config.train.lr, 0.001);
  EXPECT_TRUE(config.schedule.moe_fb_overlap);
  EXPECT_EQ(config.train.seed, 5000000000);
  EXPECT_EQ(config.train.params_dtype, "fp64");
  EXPECT_EQ(config.schedule.num_microbatches, 4);
  EXPECT_EQ(outcome.request.sources.size(), 6U);
}

TEST(ReadRequest, AFlagBeatsTheEnvironmentBeatsTheFile) {
  const TomlFile file("num-layers = 1\nhidden_size = 2\nseq-length = 3\n");
  const Outcome outcome =
      read(Verb::Train, {"--num-layers", "10", "--config", file.path()},
           {{"WEFT_NUM_LAYERS", "20"}, {"WEFT_HIDDEN_SIZE", "21"}, {"WEFT_LR", ""}});
  EXPECT_THAT(outcome.violations, IsEmpty());
  EXPECT_EQ(outcome.request.config.model.num_layers, 10);
  EXPECT_EQ(outcome.request.config.model.hidden_size, 21);
  EXPECT_EQ(outcome.request.config.model.seq_length, 3);
  const auto& sources = outcome.request.sources;
  EXPECT_EQ(sources.at("num-layers").kind, SourceKind::CommandLine);
  EXPECT_EQ(sources.at("hidden-size").kind, SourceKind::Environment);
  EXPECT_EQ(sources.at("hidden-size").place, "WEFT_HIDDEN_SIZE");
  EXPECT_EQ(sources.at("seq-length").kind, SourceKind::File);
  EXPECT_EQ(sources.at("seq-length").place, file.path() + ":3: seq-length");
  EXPECT_FALSE(outcome.request.given("lr"));
}

TEST(ReadRequest, TomlValuesOfEveryKind) {
  const TomlFile file(
      "# a run\n"
      "moe-fb-overlap = true\n"
      "lr = 3e-4\n"
      "noop-layers = [0, 31]\n"
      "moe-layer-freq = [0, 1, 1]\n"
      "pipeline-model-parallel-layout = 'Ett|tL'  # two stages\n"
      "metrics = \"out#1.jsonl\"\n"
      "train-iters = 1_000\n");
  const Outcome outcome = read(Verb::Train, {"--config", file.path()});
  EXPECT_THAT(outcome.violations, IsEmpty());
  const Config& config = outcome.request.config;
  EXPECT_TRUE(config.schedule.moe_fb_overlap);
  EXPECT_EQ(config.train.lr, 3e-4);
  EXPECT_EQ(config.model.noop_layers, "[0,31]");
  EXPECT_EQ(config.model.moe_layer_freq, "[0,1,1]");
  EXPECT_EQ(config.schedule.pipeline_model_parallel_layout, "Ett|tL");
  EXPECT_EQ(config.train.metrics, "out#1.jsonl");
  EXPECT_EQ(config.train.train_iters, 1000);
}

TEST(ReadRequest, AFileOfATrainingRunServesOtherVerbs) {
  const TomlFile file("lr = 3e-4\nnum-microbatches = 4\n");
  const Outcome outcome = read(Verb::Schedule, {"--config", file.path()});
  EXPECT_THAT(outcome.violations, IsEmpty());
  EXPECT_FALSE(outcome.request.given("lr"));
  EXPECT_EQ(outcome.request.config.schedule.num_microbatches, 4);
}

TEST(ReadRequest, ASyntaxErrorNamesFileAndLine) {
  const TomlFile file("lr = 3e-4\nnum-layers 8\n");
  const Outcome outcome = read(Verb::Train, {"--config", file.path()});
  ASSERT_EQ(outcome.violations.size(), 1U);
  EXPECT_EQ(outcome.violations[0].rule, "toml-syntax");
  EXPECT_EQ(outcome.violations[0].found, file.path() + ":2");
  EXPECT_TRUE(outcome.request.incomplete);
}

TEST(ReadRequest, ReportsEverythingAtOnce) {
  const Outcome outcome = read(Verb::Train, {"--num-layres", "8", "--hidden-size", "1x", "--lr",
                                             "1", "--lr", "2", "--level", "steps", "--seq-length"});
  std::vector<std::string> rules;
  for (const Violation& violation : outcome.violations) rules.push_back(violation.rule);
  EXPECT_THAT(rules, testing::UnorderedElementsAre("unknown-flag", "flag-value", "flag-given-twice",
                                                   "flag-of-another-verb", "flag-value"));
}

TEST(ReadRequest, NamesTheNearestFlag) {
  const Outcome outcome = read(Verb::Train, {"--num-layrs=8"});
  ASSERT_EQ(outcome.violations.size(), 1U);
  EXPECT_EQ(outcome.violations[0],
            (Violation{"unknown-flag", "--num-layrs=8",
                       "no such flag (did you mean --num-layers?); `weft train --help` lists "
                       "them"}));
  EXPECT_TRUE(outcome.request.broken.contains("num-layers"));
}

TEST(ReadRequest, UnderscoresStandForDashes) {
  const Outcome outcome = read(
      Verb::Train, {"--num_layers=8", "--hidden_size", "16", "--override-opt_param-scheduler"});
  EXPECT_THAT(outcome.violations, IsEmpty());
  EXPECT_EQ(outcome.request.config.model.num_layers, 8);
  EXPECT_EQ(outcome.request.config.model.hidden_size, 16);
}

// As argparse reads them: see nargs and negative numbers in its documentation.
TEST(ReadRequest, AFlagTakesAsManyWordsAsInMegatron) {
  const Outcome outcome =
      read(Verb::Plan, {"--spec", "a.module", "layer_spec", "--profile-ranks", "0", "8",
                        "--moe-layer-freq", "[0]*3+[1]*58", "--recompute-modules", "--lr", "1e-4",
                        "--no-rope-freq", "-1", "--moe-aux-loss-coeff", "0.01", "--seed", "7"});
  std::vector<std::string> found;
  for (const Violation& violation : outcome.violations) found.push_back(violation.found);
  EXPECT_THAT(found, ElementsAre("--no-rope-freq -1", "--recompute-modules "));
  EXPECT_EQ(outcome.request.sources.at("spec").text, "a.module layer_spec");
  EXPECT_EQ(outcome.request.sources.at("profile-ranks").text, "0 8");
  EXPECT_EQ(outcome.request.config.model.moe_layer_freq, "[0]*3+[1]*58");
  EXPECT_EQ(outcome.request.config.model.moe_aux_loss_coeff, 0.01);
  EXPECT_EQ(outcome.request.config.train.lr, 1e-4);
  EXPECT_EQ(outcome.request.config.train.seed, 7);
}

TEST(ReadRequest, TooFewAndTooManyWordsAreRefusedAlone) {
  const Outcome outcome =
      read(Verb::Train, {"--data-path", "0.3", "a", "0.7", "b", "--profile-ranks", "--hidden-size",
                         "--num-layers", "8", "--metrics", "-x"});
  EXPECT_THAT(
      outcome.violations,
      testing::UnorderedElementsAre(
          Violation{"flag-value", "--data-path 0.3 a 0.7 b",
                    "one value is allowed here, not several"},
          Violation{"flag-value", "--profile-ranks", "a value is expected behind this flag"},
          Violation{"flag-value", "--hidden-size", "a value is expected behind this flag"},
          Violation{"flag-value", "--metrics", "a value is expected behind this flag"},
          Violation{"unknown-flag", "-x", "no such flag; `weft train --help` lists them"}));
  EXPECT_EQ(outcome.request.config.model.num_layers, 8);
}

TEST(ReadRequest, TheWordsBehindAnUnknownFlagAreItsValues) {
  const Outcome outcome = read(Verb::Train, {"--zzzz", "1", "two", "--num-layers", "8"});
  ASSERT_EQ(outcome.violations.size(), 1U);
  EXPECT_EQ(outcome.violations[0].found, "--zzzz");
  EXPECT_EQ(outcome.request.config.model.num_layers, 8);
}

TEST(ReadRequest, TheSameValueTwiceIsNoContradiction) {
  EXPECT_THAT(
      read(Verb::Train, {"--no-shared-storage", "--lr", "1", "--no-shared-storage", "--lr", "1"})
          .violations,
      IsEmpty());
  EXPECT_THAT(read(Verb::Train, {"--lr", "1", "--lr", "2"}).violations,
              ElementsAre(Violation{"flag-given-twice", "--lr 1, 2",
                                    "given more than once with values that differ: leave one"}));
}

TEST(ReadRequest, SaysNaturallyWhichNumbersAreAllowed) {
  const auto message = [](const std::string& flag, const std::string& value) {
    const Outcome outcome = read(Verb::Train, {flag, value});
    return outcome.violations.empty() ? "" : outcome.violations[0].message;
  };
  EXPECT_EQ(message("--lr", "-1"), "a number from 0 to 1000000000000000 is allowed");
  EXPECT_EQ(message("--norm-epsilon", "2"), "a number from 0 to 1 is allowed");
  EXPECT_EQ(message("--adam-beta1", "1"), "a number from 0 to below 1 is allowed");
  EXPECT_EQ(message("--adam-beta1", "0.9999999999"), "");
  EXPECT_EQ(message("--hidden-size", "x"), "a whole number from 1 to 16777216 is allowed");
}

TEST(ReadRequest, RefusesNumbersThatDoNotFit) {
  for (const char* text :
       {"0", "-1", "1.5", "1e3", "", "99999999999999999999", "nan", "2147483648"}) {
    const Outcome outcome = read(Verb::Train, {"--num-layers", text});
    ASSERT_EQ(outcome.violations.size(), 1U) << text;
    EXPECT_EQ(outcome.violations[0], (Violation{"flag-value", "--num-layers " + std::string(text),
                                                "a whole number from 1 to 100000 is allowed"}));
    EXPECT_EQ(outcome.request.config.model.num_layers, std::nullopt);
  }
  for (const char* text : {"nan", "inf", "-0.1", "x", "1e999"}) {
    EXPECT_EQ(read(Verb::Train, {"--lr", text}).violations.size(), 1U) << text;
  }
}

TEST(ReadRequest, RefusesEmptyTexts) {
  const Outcome outcome = read(Verb::Train, {"--save", ""});
  ASSERT_EQ(outcome.violations.size(), 1U);
  EXPECT_EQ(outcome.violations[0].rule, "flag-value");
  EXPECT_EQ(outcome.violations[0].message, "empty; give a value, or leave the flag out");
  EXPECT_EQ(read(Verb::Layout, {""}).violations.size(), 1U);
  EXPECT_EQ(read(Verb::Train, {}, {{"WEFT_SAVE", ""}}).violations.size(), 0U);
}

TEST(ReadRequest, SwitchesTakeTrueAndFalse) {
  EXPECT_FALSE(
      read(Verb::Train, {"--moe-fb-overlap=false"}).request.config.schedule.moe_fb_overlap);
  EXPECT_TRUE(
      read(Verb::Train, {}, {{"WEFT_MOE_FB_OVERLAP", "1"}}).request.config.schedule.moe_fb_overlap);
  EXPECT_EQ(read(Verb::Train, {"--moe-fb-overlap=maybe"}).violations.size(), 1U);
}

TEST(ReadRequest, Bf16IsShortForADtype) {
  EXPECT_EQ(read(Verb::Train, {"--bf16"}).request.config.train.params_dtype, "bf16");
  EXPECT_THAT(read(Verb::Train, {"--bf16", "--params-dtype", "bf16"}).violations, IsEmpty());
  EXPECT_EQ(read(Verb::Train, {"--bf16", "--params-dtype", "fp64"}).violations.size(), 1U);
}

TEST(ReadRequest, WhatIsNotBuiltIsRefusedUnlessItAsksNothing) {
  const Outcome outcome = read(Verb::Train, {"--tensor-model-parallel-size", "2"});
  ASSERT_EQ(outcome.violations.size(), 1U);
  EXPECT_EQ(outcome.violations[0].rule, "not-built-yet");
  EXPECT_THAT(read(Verb::Train, {"--tensor-model-parallel-size", "1"}).violations, IsEmpty());
  EXPECT_THAT(read(Verb::Train, {"--overlap-grad-reduce=false"}).violations, IsEmpty());
  EXPECT_THAT(read(Verb::Train, {"--moe-router-score-function", "softmax"}).violations, IsEmpty());
  EXPECT_EQ(read(Verb::Train, {"--moe-router-score-function", "sigmoid"}).violations.size(), 1U);
}

TEST(ReadRequest, AMisspelledVariableIsWorthAWarning) {
  const Outcome outcome =
      read(Verb::Train, {}, {{"WEFT_NUM_LAYRES", "8"}, {"WEFT_QQQQ", "1"}, {"WEFT_TEST_X", "1"}});
  EXPECT_THAT(outcome.violations, IsEmpty());
  EXPECT_THAT(
      outcome.request.warnings,
      ElementsAre("environment: WEFT_NUM_LAYRES is no flag and is passed over (did you mean "
                  "WEFT_NUM_LAYERS?)",
                  "environment: WEFT_QQQQ is no flag and is passed over"));
  EXPECT_THAT(
      read(Verb::Train, {}, {{"WEFT_FOO", "1"}, {"WEFT_LAUNCHER_PIPE", "3"}}).request.warnings,
      IsEmpty());
}

TEST(ReadRequest, ABareWordIsTheLayoutOfLayout) {
  const Outcome outcome = read(Verb::Layout, {"Ett|tL", "--pipeline-model-parallel-size", "2"});
  EXPECT_THAT(outcome.violations, IsEmpty());
  EXPECT_EQ(outcome.request.config.schedule.pipeline_model_parallel_layout, "Ett|tL");
  EXPECT_EQ(read(Verb::Train, {"word"}).violations.size(), 1U);
  EXPECT_EQ(read(Verb::Layout, {"EtL", "word"}).violations.size(), 1U);
}

TEST(FlagTable, NamesAreUniqueAndDefaultsAreAllowed) {
  std::set<std::string_view> names;
  for (const Flag& flag : flag_table()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_NE(flag.verbs, 0U) << flag.name;
    EXPECT_EQ(find_flag(flag.name), &flag);
    const std::string initial = default_text(flag);
    if (initial.empty() || !flag.traits.default_text.empty() || is_switch(flag)) continue;
    Config config;
    EXPECT_EQ(set_flag(flag, initial, "", config), std::nullopt) << flag.name << " " << initial;
  }
}

}  // namespace
}  // namespace weft
