#include "train/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "train/solo_store.h"

namespace weft {
namespace {

using testing::add_parameter;
using testing::fill_by_name;

TrainConfig some_config() {
  TrainConfig config;
  config.adam_beta1 = 0.9;
  config.adam_beta2 = 0.95;
  config.adam_eps = 1e-8;
  config.weight_decay = 0.1;
  return config;
}

// Algorithm 2 of arXiv 1711.05101 for one element, written out.
struct ByHand {
  double weight;
  double m = 0;
  double v = 0;
  int t = 0;

  void step(double gradient, double lr, double decay) {
    ++t;
    m = 0.9 * m + 0.1 * gradient;
    v = 0.95 * v + 0.05 * gradient * gradient;
    const double m_hat = m / (1 - std::pow(0.9, t));
    const double v_hat = v / (1 - std::pow(0.95, t));
    weight = weight - lr * (m_hat / (std::sqrt(v_hat) + 1e-8) + decay * weight);
  }
};

TEST(AdamW, AgreesWithTheAlgorithmByHandInDouble) {
  ParameterStore store;
  store.main_type = at::kDouble;
  add_parameter(store, {"matrix"}, 1, 2);
  add_parameter(store, {"norm"}, 1, 1).decay = false;
  fill_by_name(store);
  std::vector<ByHand> by_hand;
  for (const Parameter& parameter : store.parameters) {
    for (std::int64_t i = 0; i < parameter.main.numel(); ++i) {
      by_hand.push_back({parameter.main.view(-1)[i].item<double>()});
    }
  }
  AdamW optimizer(store, some_config());
  for (int step = 0; step < 5; ++step) {
    const double lr = 0.01 * (step + 1);
    std::size_t k = 0;
    for (Parameter& parameter : store.parameters) {
      for (std::int64_t i = 0; i < parameter.main.numel(); ++i, ++k) {
        parameter.main.view(-1)[i].fill_(by_hand[k].weight);
        const double gradient = std::sin(step * 3.0 + static_cast<double>(k));
        parameter.grad.view(-1)[i].fill_(gradient);
        by_hand[k].step(gradient, lr, parameter.decay ? 0.1 : 0.0);
      }
    }
    optimizer.step(lr);
    k = 0;
    for (const Parameter& parameter : store.parameters) {
      for (std::int64_t i = 0; i < parameter.main.numel(); ++i, ++k) {
        EXPECT_NEAR(parameter.main.view(-1)[i].item<double>(), by_hand[k].weight, 1e-13) << step;
      }
    }
  }
  EXPECT_EQ(optimizer.num_steps(), 5);
}

TEST(AdamW, SlicesAreViewsOfItsState) {
  ParameterStore store;
  add_parameter(store, {"q", "k"}, 2, 3);
  fill_by_name(store);
  AdamW optimizer(store, some_config());
  optimizer.step(0.1);
  const std::vector<SliceState> slices = optimizer.slices();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].name, "k");
  // After one step from zero the mean is (1 - beta1) times the gradient.
  for (std::size_t i = 0; i < 2; ++i) {
    const at::Tensor& gradient = store.parameters[0].slices[i].grad;
    EXPECT_TRUE(at::allclose(slices[i].exp_avg, gradient * 0.1, 1e-6));
    EXPECT_TRUE(at::allclose(slices[i].exp_avg_sq, gradient * gradient * 0.05, 1e-6));
  }
}

TEST(AdamW, RefreshesTheComputeCopy) {
  ParameterStore store;
  Parameter& parameter = add_parameter(store, {"w"}, 2, 2);
  parameter.compute = at::zeros({2, 2}, at::kBFloat16);
  fill_by_name(store);
  AdamW optimizer(store, some_config());
  optimizer.step(0.1);
  EXPECT_TRUE(at::equal(parameter.compute, parameter.main.to(at::kBFloat16)));
}

TEST(AdamW, ContinuesFromItsStateToTheSameBits) {
  ParameterStore whole;
  add_parameter(whole, {"w"}, 3, 5);
  fill_by_name(whole);
  AdamW optimizer(whole, some_config());
  optimizer.step(0.1);

  ParameterStore resumed;
  add_parameter(resumed, {"w"}, 3, 5);
  fill_by_name(resumed);
  AdamW continued(resumed, some_config());
  const SliceState from = optimizer.slices()[0];
  const SliceState to = continued.slices()[0];
  to.main.copy_(from.main);
  to.exp_avg.copy_(from.exp_avg);
  to.exp_avg_sq.copy_(from.exp_avg_sq);
  continued.set_num_steps(optimizer.num_steps());

  optimizer.step(0.05);
  continued.step(0.05);
  EXPECT_TRUE(at::equal(whole.parameters[0].main, resumed.parameters[0].main));
  EXPECT_TRUE(at::equal(from.exp_avg_sq, to.exp_avg_sq));
}

}  // namespace
}  // namespace weft
