#include "train/sample.h"

#include <cmath>
#include <limits>
#include <map>

#include "train/support.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

TEST(ChooseToken, TemperatureZeroTakesTheLikeliestAndTheFirstOfEquals) {
  EXPECT_EQ(choose_token({0, 3, 3, 1}, {.temperature = 0}, 0.99), 1);
}

TEST(ChooseToken, RefusesWhatIsNoNumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {kNan, kInfinity}) {
    EXPECT_THAT(message_of<RuntimeFault>([&] { choose_token({0, wrong, 1}, {}, 0.5); }),
                HasSubstr("logits are not finite"));
  }
}

TEST(Sample, APromptHasTheModelsTokens) {
  EXPECT_NO_THROW(require_prompt_tokens("\t", 10));
  EXPECT_THAT(message_of([] { require_prompt_tokens("\t\na", 10); }),
              HasSubstr("byte 1 is token 10; the model has tokens 0 to 9"));
}

TEST(Sample, TokensThatAreNoBytesAreShown) {
  const LogitsFunction end = [](const std::vector<std::int64_t>& tokens) {
    std::vector<float> logits(257, 0.0f);
    logits[tokens.back() == 'x' ? 256 : 'y'] = 1;
    return logits;
  };
  EXPECT_EQ(sample_text(end, "x", {.max_new_tokens = 2, .temperature = 0}), "<256>y");
}

TEST(ChooseToken, FollowsTheDistribution) {
  // softmax of ln 1, ln 2, ln 5 is 1/8, 2/8, 5/8; the likeliest comes first.
  const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
  EXPECT_EQ(choose_token(logits, {}, 0.0), 2);
  EXPECT_EQ(choose_token(logits, {}, 0.62), 2);
  EXPECT_EQ(choose_token(logits, {}, 0.63), 1);
  EXPECT_EQ(choose_token(logits, {}, 0.87), 1);
  EXPECT_EQ(choose_token(logits, {}, 0.88), 0);
  EXPECT_EQ(choose_token(logits, {}, 0.999999), 0);
  // Of the top two, 5/7 and 2/7.
  EXPECT_EQ(choose_token(logits, {.top_k = 2}, 0.71), 2);
  EXPECT_EQ(choose_token(logits, {.top_k = 2}, 0.72), 1);
  EXPECT_EQ(choose_token(logits, {.top_k = 2}, 0.999999), 1);
  // Temperature 1/2 squares the shares: 25/30, 4/30, 1/30.
  EXPECT_EQ(choose_token(logits, {.temperature = 0.5}, 0.83), 2);
  EXPECT_EQ(choose_token(logits, {.temperature = 0.5}, 0.84), 1);
}

TEST(Sample, FeedsBackWhatItChose) {
  // The next token is the last one plus one, for certain.
  const LogitsFunction counts = [](const std::vector<std::int64_t>& tokens) {
    std::vector<float> logits(10, -1e9f);
    logits[static_cast<std::size_t>(tokens.back() + 1)] = 0;
    return logits;
  };
  EXPECT_THAT(sample(counts, {3}, {.max_new_tokens = 3}), ElementsAre(4, 5, 6));
}

TEST(Sample, GivesTheModelItsContextOnly) {
  std::vector<std::size_t> lengths;
  const LogitsFunction flat = [&](const std::vector<std::int64_t>& tokens) {
    lengths.push_back(tokens.size());
    return std::vector<float>(4, 0.0f);
  };
  sample(flat, {0, 1}, {.max_new_tokens = 3, .context_length = 3});
  EXPECT_THAT(lengths, ElementsAre(2, 3, 3));
}

TEST(Sample, TheSeedFixesTheText) {
  const LogitsFunction flat = [](const std::vector<std::int64_t>&) {
    return std::vector<float>(256, 0.0f);
  };
  EXPECT_EQ(sample_text(flat, "x", {.seed = 1}), sample_text(flat, "x", {.seed = 1}));
  EXPECT_NE(sample_text(flat, "x", {.seed = 1}), sample_text(flat, "x", {.seed = 2}));
  EXPECT_EQ(sample_text(flat, "x", {.max_new_tokens = 5}).size(), 5u);
}

// Four equal tokens, 4000 draws: each about 1000 times (standard deviation 27).
TEST(Sample, DrawsEvenly) {
  const LogitsFunction flat = [](const std::vector<std::int64_t>&) {
    return std::vector<float>(4, 0.0f);
  };
  std::map<std::int64_t, int> counts;
  for (const std::int64_t token :
       sample(flat, {0}, {.max_new_tokens = 4000, .context_length = 1})) {
    ++counts[token];
  }
  for (const auto& [token, count] : counts) EXPECT_NEAR(count, 1000, 150) << token;
}

TEST(Sample, RefusesAllThatIsWrongAtOnce) {
  const std::string message = message_of([] { sample({}, {}, {.temperature = -1, .top_k = -1}); });
  EXPECT_THAT(message, HasSubstr("--prompt"));
  EXPECT_THAT(message, HasSubstr("--temperature"));
  EXPECT_THAT(message, HasSubstr("--top-k -1"));
}

}  // namespace
}  // namespace weft
