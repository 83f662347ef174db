#include "train/lr_schedule.h"

#include <cmath>

#include "train/support.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

TEST(LearningRate, WarmsUpLinearlyThenFollowsACosine) {
  TrainConfig config;
  config.lr = 1.0;
  config.min_lr = 0.2;
  config.lr_warmup_iters = 4;
  config.lr_decay_iters = 10;
  const LearningRate rate(config);
  EXPECT_EQ(rate(0), 0.0);
  EXPECT_EQ(rate(1), 0.25);
  EXPECT_EQ(rate(4), 1.0);
  // A third of the way: 0.2 + 0.8 * (1 + cos 60°) / 2; half: the mean; two thirds.
  EXPECT_NEAR(rate(6), 0.8, 1e-15);
  EXPECT_NEAR(rate(7), 0.6, 1e-15);
  EXPECT_NEAR(rate(8), 0.4, 1e-15);
  EXPECT_EQ(rate(10), 0.2);
  EXPECT_EQ(rate(1000), 0.2);
}

TEST(LearningRate, DecaysOverTheRunUnlessTold) {
  TrainConfig config;
  config.lr = 2.0;
  config.train_iters = 2;
  const LearningRate rate(config);
  EXPECT_EQ(rate(0), 2.0);
  EXPECT_NEAR(rate(1), 1.0, 1e-15);
  EXPECT_EQ(rate(2), 0.0);
}

TEST(LearningRate, RefusesAllThatIsWrongAtOnce) {
  TrainConfig config;
  config.lr = 0.1;
  config.min_lr = 0.2;
  config.train_iters = 5;
  config.lr_warmup_iters = 5;
  const std::string message = message_of([&] { LearningRate rate(config); });
  EXPECT_THAT(message, HasSubstr("--min-lr"));
  EXPECT_THAT(message, HasSubstr("--lr-warmup-iters 5"));
}

}  // namespace
}  // namespace weft
