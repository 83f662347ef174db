#include "train/lr_schedule.h"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.h"

namespace weft {

LearningRate::LearningRate(const TrainConfig& config)
    : max_(config.lr),
      min_(config.min_lr),
      warmup_(config.lr_warmup_iters),
      decay_(config.lr_decay_iters.value_or(config.train_iters)) {
  std::vector<Violation> violations;
  if (!(min_ >= 0 && min_ <= max_)) {
    violations.push_back({"learning-rate",
                          "--min-lr " + std::to_string(min_) + ", --lr " + std::to_string(max_),
                          "0 <= min-lr <= lr"});
  }
  if (warmup_ < 0 || (warmup_ > 0 && warmup_ >= decay_)) {
    violations.push_back({"learning-rate-warmup", "--lr-warmup-iters " + std::to_string(warmup_),
                          "must be below the decay iterations, " + std::to_string(decay_) +
                              " (--lr-decay-iters, else --train-iters)"});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
}

double LearningRate::operator()(long num_steps) const {
  if (warmup_ > 0 && num_steps <= warmup_) {
    return max_ * static_cast<double>(num_steps) / static_cast<double>(warmup_);
  }
  if (num_steps >= decay_) return min_;
  const double progress =
      static_cast<double>(num_steps - warmup_) / static_cast<double>(decay_ - warmup_);
  return min_ + (max_ - min_) * 0.5 * (std::cos(std::numbers::pi * progress) + 1.0);
}

}  // namespace weft
