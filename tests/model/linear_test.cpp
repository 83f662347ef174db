#include "model/linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Linear, WeightGradientsInLowPrecisionAreNotRoundedBeforeTheyAreAdded) {
  // 257 = 256 + 1 needs nine bits of mantissa, BF16 has eight.
  const at::Tensor ones = at::ones({257, 1}, at::kBFloat16);
  const at::Tensor grad = at::zeros({1, 1}, at::kFloat);
  add_weight_gradient(grad, ones, ones);
  EXPECT_EQ(grad.item<double>(), 257);
  add_weight_gradient(grad, ones.narrow(0, 0, 1), ones.narrow(0, 0, 1));
  EXPECT_EQ(grad.item<double>(), 258);
}

TEST(Linear, KeepsNeitherInputNorGradientOnceTheWeightGradientHasRun) {
  ParameterStore store;
  Parameter& weight = store.add({3, 2}, Stage(0));
  WgradTerm pending;
  const PutOff put_off = [&](WgradTerm wgrad) { pending = std::move(wgrad); };
  at::Tensor x = at::ones({4, 2});
  const c10::weak_intrusive_ptr<c10::StorageImpl> storage(x.storage().getWeakStorageImpl());
  SegmentGraph graph;
  {
    const at::Tensor residual = graph.input(at::zeros({4, 3}));
    graph.output(linear_add(graph.input(x), weight, residual, put_off));
  }
  x.reset();
  graph.backward({at::ones({4, 3})});
  EXPECT_FALSE(storage.expired());
  pending();
  pending = nullptr;
  EXPECT_TRUE(storage.expired());
  EXPECT_TRUE(at::equal(weight.grad, at::full({3, 2}, 4)));
}

}  // namespace
}  // namespace weft
