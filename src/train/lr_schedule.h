// Learning rate: linear warm-up, then cosine decay (megatron/core/optimizer_param_scheduler.py).
#pragma once

#include "config/config.h"

namespace weft {

class LearningRate {
 public:
  // Errors: UserError unless 0 <= warm-up < decay iterations and 0 <= min_lr <= lr.
  explicit LearningRate(const TrainConfig& config);

  // For the step after `num_steps` finished ones. As in Megatron, warm-up starts from 0: the first
  // step's rate is 0 if there is a warm-up, lr * num_steps / warm-up up to lr at num_steps =
  // warm-up; then min + (lr - min) (1 + cos(pi x)) / 2 with x = (num_steps - warm-up) / (decay -
  // warm-up); min from num_steps = decay on.
  double operator()(long num_steps) const;

 private:
  double max_;
  double min_;
  long warmup_;
  long decay_;
};

}  // namespace weft
