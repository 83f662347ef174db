// AdamW (arXiv 1711.05101) over the main weights of a rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "model/parameters.h"

namespace weft {

// A tensor of the unsharded model with its optimizer state, views into what a step updates.
struct SliceState {
  std::string name;
  at::Tensor main;
  at::Tensor exp_avg;
  at::Tensor exp_avg_sq;
};

class AdamW {
 public:
  // `store` outlives the optimizer, and its parameters are all there. State starts at zero, in the
  // type of the main weights.
  AdamW(ParameterStore& store, const TrainConfig& config);
  ~AdamW();
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  // Updates main weights from main gradients, then the compute copies. Weight decay applies where
  // Parameter::decay says so.
  void step(double learning_rate);

  // Finished steps; they correct the bias of the running means.
  std::int64_t num_steps() const { return num_steps_; }
  void set_num_steps(std::int64_t num_steps);

  // In the order of the store; a name that stands in two parameters is there twice.
  std::vector<SliceState> slices() const;

 private:
  class Impl;

  ParameterStore& store_;
  std::int64_t num_steps_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
