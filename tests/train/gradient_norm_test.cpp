#include "train/gradient_norm.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <limits>

#include "comm/local.h"
#include "train/solo_store.h"
#include "train/support.h"

namespace weft {
namespace {

using testing::add_parameter;
using testing::fill_by_name;
using ::testing::HasSubstr;
using testing::message_of;

TEST(SquareSum, OfWholeNumbersIsExact) {
  // 1² + … + 11² = 506: eight lanes and a rest of three.
  EXPECT_EQ(square_sum(at::arange(1, 12, at::kFloat)), 506.0);
  EXPECT_EQ(square_sum(at::arange(1, 12, at::kDouble)), 506.0);
  EXPECT_EQ(square_sum(at::empty({0})), 0.0);
  EXPECT_EQ(square_sum(at::arange(1, 13, at::kFloat).view({3, 4}).t()), 650.0);
}

TEST(GradientNorm, CountsEveryTensorOnceWhateverTheCut) {
  ParameterStore whole;
  add_parameter(whole, {"a", "b"}, 3, 5);
  add_parameter(whole, {"c"}, 2, 7);
  fill_by_name(whole);
  const double expected = gradient_norm(whole, *make_group_of_one("world", Rank(0)));
  double squares = 0;
  for (const Parameter& p : whole.parameters) {
    squares += p.grad.to(at::kDouble).square().sum().item<double>();
  }
  EXPECT_NEAR(expected, std::sqrt(squares), 1e-12);

  run_ranks(2, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    ParameterStore store;
    if (rank == 0) add_parameter(store, {"c"}, 2, 7);
    if (rank == 1) add_parameter(store, {"a"}, 3, 5);
    add_parameter(store, {"b"}, 3, 5);  // a replica on both
    fill_by_name(store);
    EXPECT_EQ(gradient_norm(store, *world), expected);
  });
}

TEST(GradientNorm, NamesWhatIsNotFinite) {
  ParameterStore store;
  add_parameter(store, {"a", "b"}, 1, 2);
  store.parameters[0].slices[1].grad.fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(
      message_of<RuntimeFault>([&] { gradient_norm(store, *make_group_of_one("world", Rank(0))); }),
      HasSubstr("not finite in 1 of 2 tensors: b"));
}

TEST(ClipGradients, ScalesOnlyWhatIsTooLong) {
  ParameterStore store;
  add_parameter(store, {"a"}, 1, 2);
  at::Tensor& grad = store.parameters[0].grad;
  grad.copy_(at::tensor({3.0, 4.0}));
  EXPECT_EQ(clip_gradients(store, 5.0, 6.0), 1.0);
  EXPECT_EQ(clip_gradients(store, 5.0, 0.0), 1.0);
  EXPECT_TRUE(at::equal(grad, at::tensor({3.0, 4.0}).to(at::kFloat).view({1, 2})));
  EXPECT_EQ(clip_gradients(store, 5.0, 1.0), 1.0 / (5.0 + 1e-6));
  EXPECT_TRUE(at::allclose(grad, at::tensor({0.6, 0.8}).to(at::kFloat).view({1, 2}), 1e-5));
}

}  // namespace
}  // namespace weft
