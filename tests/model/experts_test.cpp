#include "model/experts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace weft {
namespace {

constexpr std::int64_t kHidden = 6;
constexpr std::int64_t kWidth = 4;

ParameterStore expert_store(std::int64_t experts) {
  ParameterStore store;
  store.main_type = store.compute_type = at::kDouble;
  at::Generator generator = at::detail::createCPUGenerator(11);
  store.add({experts, 2 * kWidth, kHidden}, Stage(0)).main.normal_(0, 0.5, generator);
  store.add({experts, kHidden, kWidth}, Stage(0)).main.normal_(0, 0.5, generator);
  return store;
}

// Row by row with ordinary autograd: rows of one (source rank, expert) block after the other.
at::Tensor row_by_row(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                      const std::vector<std::int64_t>& counts) {
  const std::int64_t experts = gate_up.size(0);
  std::vector<at::Tensor> rows;
  for (std::size_t block = 0; block < counts.size(); ++block) {
    const auto expert = static_cast<std::int64_t>(block) % experts;
    for (std::int64_t i = 0; i < counts[block]; ++i) {
      const at::Tensor row = x[static_cast<std::int64_t>(rows.size())];
      const at::Tensor both = at::matmul(gate_up[expert], row);
      rows.push_back(
          at::matmul(down[expert], at::silu(both.slice(0, 0, kWidth)) * both.slice(0, kWidth)));
    }
  }
  return at::stack(rows);
}

class ExpertFeedForward : public ::testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(ExpertFeedForward, AgreesWithOneRowAtATime) {
  const std::vector<std::int64_t> counts = GetParam();
  ParameterStore store = expert_store(3);
  Parameter& gate_up = store.parameters[0];
  Parameter& down = store.parameters[1];
  std::int64_t rows = 0;
  for (const std::int64_t count : counts) rows += count;
  at::Generator generator = at::detail::createCPUGenerator(12);
  const at::Tensor x = at::empty({rows, kHidden}, at::kDouble).normal_(0, 1, generator);
  const at::Tensor dy = at::empty({rows, kHidden}, at::kDouble).normal_(0, 1, generator);

  std::vector<WgradTerm> wgrads;
  const PutOff put_off = [&](WgradTerm wgrad) { wgrads.push_back(std::move(wgrad)); };
  SegmentGraph graph;
  const at::Tensor y =
      graph.output(expert_feed_forward(graph.input(x), gate_up, down, counts, put_off));
  const at::Tensor dx = graph.backward({dy})[0];
  EXPECT_EQ(gate_up.grad.abs().sum().item<double>(), 0) << "before its W has run";
  for (WgradTerm& wgrad : wgrads) wgrad();

  const at::Tensor leaf = x.detach().clone().requires_grad_(true);
  const at::Tensor plain_gate_up = gate_up.main.clone().requires_grad_(true);
  const at::Tensor plain_down = down.main.clone().requires_grad_(true);
  const at::Tensor expected = row_by_row(leaf, plain_gate_up, plain_down, counts);
  torch::autograd::backward({expected}, {dy});
  EXPECT_TRUE(at::allclose(y, expected, 1e-12, 1e-13));
  EXPECT_TRUE(at::allclose(dx, leaf.grad(), 1e-12, 1e-13));
  EXPECT_TRUE(at::allclose(gate_up.grad, plain_gate_up.grad(), 1e-12, 1e-13));
  EXPECT_TRUE(at::allclose(down.grad, plain_down.grad(), 1e-12, 1e-13));
}

INSTANTIATE_TEST_SUITE_P(Counts, ExpertFeedForward,
                         ::testing::Values(std::vector<std::int64_t>{2, 1, 3},
                                           std::vector<std::int64_t>{2, 0, 3},
                                           std::vector<std::int64_t>{2, 1, 3, 0, 4, 1},
                                           std::vector<std::int64_t>{0, 0, 0, 5, 0, 1}));

TEST(ExpertFeedForwardWithoutRows, GivesNoRowsAndAddsNothing) {
  ParameterStore store = expert_store(2);
  std::vector<WgradTerm> wgrads;
  const PutOff put_off = [&](WgradTerm wgrad) { wgrads.push_back(std::move(wgrad)); };
  SegmentGraph graph;
  const at::Tensor none = at::empty({0, kHidden}, at::kDouble);
  const at::Tensor y = graph.output(expert_feed_forward(
      graph.input(none), store.parameters[0], store.parameters[1], {0, 0, 0, 0}, put_off));
  EXPECT_EQ(y.sizes(), none.sizes());
  EXPECT_EQ(graph.backward({none})[0].sizes(), none.sizes());
  EXPECT_EQ(wgrads.size(), 2U);
  for (WgradTerm& wgrad : wgrads) wgrad();
  EXPECT_EQ(store.parameters[0].grad.abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace weft
