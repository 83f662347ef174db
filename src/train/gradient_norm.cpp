#include "train/gradient_norm.h"

#include <ATen/Functions.h>

#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "train/gather.h"

namespace weft {
namespace {

constexpr std::int64_t kLanes = 8;

// A fixed number of running sums, so that the compiler can vectorise without changing the order.
template <class T>
double square_sum(const T* values, std::int64_t size) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < size; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}

constexpr int kNamedFaults = 3;

}  // namespace

double square_sum(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU).contiguous();
  if (values.scalar_type() == at::kFloat) {
    return square_sum(values.const_data_ptr<float>(), values.numel());
  }
  return square_sum(values.to(at::kDouble).const_data_ptr<double>(), values.numel());
}

double gradient_norm(const ParameterStore& store, Group& world) {
  std::vector<NamedBits> mine;
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) {
      mine.push_back({slice.name, std::bit_cast<std::uint64_t>(square_sum(slice.grad))});
    }
  }
  double sum = 0;
  std::string faults;
  int num_faults = 0;
  const auto squares = merge_replicas(gather_named(world, mine), "the squared gradient");
  for (const auto& [name, bits] : squares) {
    const auto square = std::bit_cast<double>(bits);
    sum += square;
    if (!std::isfinite(square) && ++num_faults <= kNamedFaults) {
      faults += (faults.empty() ? " " : ", ") + name;
    }
  }
  if (!std::isfinite(sum)) {
    throw RuntimeFault(
        "the gradient is not finite in " + std::to_string(num_faults) + " of " +
        std::to_string(squares.size()) + " tensors:" + faults +
        (num_faults > kNamedFaults ? ", ..." : "") +
        "; what was saved before is untouched, a lower --lr or --clip-grad may help");
  }
  return std::sqrt(sum);
}

double clip_gradients(ParameterStore& store, double norm, double clip) {
  const double factor = clip / (norm + 1e-6);
  if (clip <= 0 || factor >= 1) return 1.0;
  for (Parameter& parameter : store.parameters) parameter.grad.mul_(factor);
  return factor;
}

}  // namespace weft
