#include "model/router.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

ModelShape shape_with(std::int64_t experts, std::int64_t topk) {
  ModelShape shape;
  shape.hidden = 3;
  shape.experts = experts;
  shape.topk = topk;
  return shape;
}

Parameter& router_of(ParameterStore& store, const at::Tensor& weight) {
  store.main_type = store.compute_type = at::kDouble;
  Parameter& router = store.add(weight.sizes(), Stage(0));
  router.main.copy_(weight);
  return router;
}

void ignore(const WgradTerm&) {}

at::Tensor indices(std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); }

TEST(Router, SortsByExpertThenToken) {
  ParameterStore store;
  // Expert e scores with element e of the token.
  Parameter& router = router_of(store, at::eye(3, at::kDouble));
  const at::Tensor x = at::tensor({0.0, 1.0, 2.0,   // experts 2, 1
                                   3.0, 0.0, 1.0,   // experts 0, 2
                                   0.0, 5.0, 1.0},  // experts 1, 2
                                  at::kDouble)
                           .view({3, 3});
  const Routed routed = route(x, router, shape_with(3, 2), 1, false, ignore);
  EXPECT_TRUE(at::equal(routed.routing.counts, indices({1, 2, 3})));
  EXPECT_TRUE(at::equal(routed.routing.token, indices({1, 0, 2, 0, 1, 2})));
  EXPECT_TRUE(at::equal(routed.routing.position, indices({3, 0, 2, 1, 4, 5}).view({2, 3})));
  EXPECT_TRUE(at::equal(routed.permuted, x.index_select(0, routed.routing.token)));
  // Two scores a and b: 1 / (1 + exp(b - a)).
  EXPECT_NEAR(routed.probabilities[0][0].item<double>(), 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_NEAR(routed.probabilities[2][1].item<double>(), 1 / (1 + std::exp(4.0)), 1e-15);
}

TEST(Router, PreSoftmaxDoesNotRenormalise) {
  ParameterStore store;
  Parameter& router = router_of(store, at::eye(3, at::kDouble));
  ModelShape shape = shape_with(3, 1);
  shape.pre_softmax = true;
  const at::Tensor x = at::tensor({std::log(2.0), 0.0, 0.0}, at::kDouble).view({1, 3});
  const Routed routed = route(x, router, shape, 1, false, ignore);
  EXPECT_NEAR(routed.probabilities[0][0].item<double>(), 0.5, 1e-15);  // 2 / (2 + 1 + 1)
}

TEST(Router, LossesOfEqualScoresAreTheirCoefficients) {
  ParameterStore store;
  Parameter& router = router_of(store, at::zeros({4, 3}, at::kDouble));
  ModelShape shape = shape_with(4, 2);
  const at::Tensor x = at::ones({5, 3}, at::kDouble);
  EXPECT_FALSE(route(x, router, shape, 1, false, ignore).aux_loss.defined());
  shape.aux_loss_coeff = 0.3;  // E * sum_e f_e / E = 1
  EXPECT_NEAR(route(x, router, shape, 1, false, ignore).aux_loss.item<double>(), 0.3, 1e-15);
  shape.z_loss_coeff = 0.5;  // logsumexp of four zeros is ln 4
  EXPECT_NEAR(route(x, router, shape, 1, false, ignore).aux_loss.item<double>(),
              0.3 + 0.5 * std::log(4.0) * std::log(4.0), 1e-14);
}

TEST(Router, MergeUndoesThePermutation) {
  ParameterStore store;
  at::Generator generator = at::detail::createCPUGenerator(3);
  const auto draw = [&](at::IntArrayRef sizes) {
    return at::empty(sizes, at::kDouble).normal_(0, 1, generator);
  };
  Parameter& router = router_of(store, draw({4, 3}));
  const at::Tensor x = draw({6, 3});
  const at::Tensor residual = draw({6, 3});
  const Routed routed = route(x, router, shape_with(4, 2), 1, true, ignore);
  // Experts that return what they get: the weights of a token sum to one.
  const at::Tensor y =
      merge(routed.permuted, routed.probabilities, residual, routed.normed, routed.routing);
  EXPECT_TRUE(at::allclose(y, residual + 2 * x, 1e-13, 1e-14));
}

}  // namespace
}  // namespace weft
