#include "train/optimizer.h"

#include <ATen/Functions.h>
#include <torch/optim/adamw.h>

#include <utility>

#include "base/error.h"

namespace weft {
namespace {

using torch::optim::AdamWOptions;
using torch::optim::AdamWParamState;

// The part of `whole` that `slice` is of `main`.
at::Tensor same_view(const at::Tensor& whole, const at::Tensor& slice, const at::Tensor& main) {
  return whole.as_strided(slice.sizes(), slice.strides(),
                          slice.storage_offset() - main.storage_offset());
}

}  // namespace

class AdamW::Impl {
 public:
  Impl(ParameterStore& store, const TrainConfig& config) {
    std::vector<at::Tensor> decayed;
    std::vector<at::Tensor> plain;
    for (Parameter& parameter : store.parameters) {
      weft_assert(parameter.main.is_contiguous(), "main weights are contiguous");
      // An alias, so that the engine's own tensor carries no gradient.
      at::Tensor weight = parameter.main.detach();
      weight.mutable_grad() = parameter.grad;
      (parameter.decay ? decayed : plain).push_back(weight);
      weights_.push_back(weight);
    }
    std::vector<torch::optim::OptimizerParamGroup> groups;
    add_group(groups, std::move(decayed), config, config.weight_decay);
    add_group(groups, std::move(plain), config, 0.0);
    adamw_ = std::make_unique<torch::optim::AdamW>(groups, options(config, config.weight_decay));
    for (const at::Tensor& weight : weights_) {
      auto state = std::make_unique<AdamWParamState>();
      state->exp_avg(at::zeros_like(weight));
      state->exp_avg_sq(at::zeros_like(weight));
      adamw_->state()[weight.unsafeGetTensorImpl()] = std::move(state);
    }
  }

  void step(double learning_rate) {
    for (auto& group : adamw_->param_groups()) group.options().set_lr(learning_rate);
    adamw_->step();
  }

  AdamWParamState& state(std::size_t index) {
    return static_cast<AdamWParamState&>(*adamw_->state()[weights_[index].unsafeGetTensorImpl()]);
  }

  std::size_t size() const { return weights_.size(); }

 private:
  static AdamWOptions options(const TrainConfig& config, double weight_decay) {
    return AdamWOptions(config.lr)
        .betas({config.adam_beta1, config.adam_beta2})
        .eps(config.adam_eps)
        .weight_decay(weight_decay);
  }

  static void add_group(std::vector<torch::optim::OptimizerParamGroup>& groups,
                        std::vector<at::Tensor> weights, const TrainConfig& config,
                        double weight_decay) {
    if (weights.empty()) return;
    groups.emplace_back(std::move(weights),
                        std::make_unique<AdamWOptions>(options(config, weight_decay)));
  }

  std::vector<at::Tensor> weights_;  // aliases of Parameter::main
  std::unique_ptr<torch::optim::AdamW> adamw_;
};

AdamW::AdamW(ParameterStore& store, const TrainConfig& config)
    : store_(store), impl_(std::make_unique<Impl>(store, config)) {}

AdamW::~AdamW() = default;

void AdamW::step(double learning_rate) {
  impl_->step(learning_rate);
  ++num_steps_;
  store_.refresh_compute();
}

void AdamW::set_num_steps(std::int64_t num_steps) {
  num_steps_ = num_steps;
  for (std::size_t i = 0; i < impl_->size(); ++i) impl_->state(i).step(num_steps);
}

std::vector<SliceState> AdamW::slices() const {
  std::vector<SliceState> slices;
  std::size_t index = 0;
  for (const Parameter& parameter : store_.parameters) {
    const AdamWParamState& state = impl_->state(index++);
    for (const NamedSlice& slice : parameter.slices) {
      slices.push_back({slice.name, slice.main,
                        same_view(state.exp_avg(), slice.main, parameter.main),
                        same_view(state.exp_avg_sq(), slice.main, parameter.main)});
    }
  }
  return slices;
}

}  // namespace weft
