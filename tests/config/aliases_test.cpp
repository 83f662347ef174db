#include "config/aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Outcome {
  Request request;
  std::vector<Violation> violations;
};

Outcome read(const std::vector<std::string>& arguments) {
  Outcome outcome;
  outcome.request = read_request(Verb::Plan, arguments, {}, outcome.violations);
  return outcome;
}

TEST(Aliases, SetTheOtherFlag) {
  const Outcome outcome = read({"--bf16", "--padded-vocab-size", "151936", "--vocab-size", "151643",
                                "--moe-intermediate-size", "1536", "--n-shared-experts", "2",
                                "--distributed-timeout-minutes", "120", "--lr-warmup-fraction",
                                "0.01", "--train-iters", "2050"});
  EXPECT_THAT(outcome.violations, IsEmpty());
  const Config& config = outcome.request.config;
  EXPECT_EQ(config.train.params_dtype, "bf16");
  EXPECT_EQ(config.model.vocab_size, 151936);
  EXPECT_EQ(config.model.moe_ffn_hidden_size, 1536);
  EXPECT_EQ(config.model.moe_shared_expert_intermediate_size, 3072);
  EXPECT_EQ(config.launch.distributed_timeout_seconds, 7200);
  EXPECT_EQ(config.train.lr_warmup_iters, 20);
  EXPECT_EQ(outcome.request.found("vocab-size"),
            "--padded-vocab-size 151936, that is --vocab-size 151936");
  EXPECT_EQ(outcome.request.found("params-dtype"), "--bf16, that is --params-dtype bf16");
}

TEST(Aliases, MayAgreeButNotDiffer) {
  EXPECT_THAT(read({"--moe-intermediate-size", "768", "--moe-ffn-hidden-size", "768"}).violations,
              IsEmpty());
  EXPECT_THAT(read({"--moe-intermediate-size", "768", "--moe-ffn-hidden-size", "700"}).violations,
              ElementsAre(Violation{
                  "flags-agree", "--moe-intermediate-size 768 and --moe-ffn-hidden-size 700",
                  "--moe-intermediate-size says --moe-ffn-hidden-size 768: give one of "
                  "them"}));
  EXPECT_EQ(read({"--bf16", "--params-dtype", "fp64"}).violations.size(), 1U);
  EXPECT_THAT(read({"--bf16=false", "--params-dtype", "fp64"}).violations, IsEmpty());
}

TEST(Aliases, RefuseValuesWithoutSense) {
  EXPECT_THAT(read({"--padded-vocab-size", "0"}).violations,
              ElementsAre(Violation{"flag-value", "--padded-vocab-size 0",
                                    "a whole number from 1 to 16777216 is allowed"}));
  for (const char* text : {"-1", "x", "1e3", "99999999999999"}) {
    EXPECT_EQ(read({"--distributed-timeout-minutes", text}).violations.size(), 1U) << text;
  }
  for (const char* text : {"-0.1", "1.5", "nan", "x"}) {
    EXPECT_EQ(read({"--lr-warmup-fraction", text}).violations.size(), 1U) << text;
  }
}

}  // namespace
}  // namespace weft
