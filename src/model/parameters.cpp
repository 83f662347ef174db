#include "model/parameters.h"

#include <ATen/ATen.h>

#include <random>
#include <string_view>

namespace weft {
namespace {

// FNV-1a, then the finalizer of MurmurHash3: near seeds and near names give far states.
std::uint64_t hash_of(std::int64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3ULL; };
  for (int shift = 0; shift < 64; shift += 8)
    mix((static_cast<std::uint64_t>(seed) >> shift) & 255);
  for (const char c : name) mix(static_cast<unsigned char>(c));
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 33);
}

at::Tensor draw_normal(at::IntArrayRef shape, std::uint64_t state, double std) {
  at::Tensor drawn = at::empty(shape, at::kFloat);
  std::mt19937_64 generator(state);
  std::normal_distribution<double> normal(0.0, std);
  float* values = drawn.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < drawn.numel(); ++i)
    values[i] = static_cast<float>(normal(generator));
  return drawn;
}

}  // namespace

Parameter& ParameterStore::add(at::IntArrayRef shape, Stage stage, bool full_precision) {
  // LibTorch's allocators start every tensor on 64 bytes or more.
  const auto options = at::TensorOptions(device).dtype(main_type);
  Parameter& parameter = parameters.emplace_back();
  parameter.main = at::zeros(shape, options);
  parameter.grad = at::zeros(shape, options);
  const bool own_copy = compute_type != main_type && !full_precision;
  parameter.compute = own_copy ? parameter.main.to(compute_type) : parameter.main;
  parameter.decay = shape.size() > 1;
  parameter.stage = stage;
  return parameter;
}

void ParameterStore::zero_grad() {
  for (Parameter& parameter : parameters) parameter.grad.zero_();
}

void ParameterStore::refresh_compute() {
  for (Parameter& parameter : parameters) {
    if (!parameter.compute.is_same(parameter.main)) parameter.compute.copy_(parameter.main);
  }
}

void initialise(ParameterStore& store, std::int64_t seed, double init_std) {
  for (Parameter& parameter : store.parameters) {
    for (NamedSlice& slice : parameter.slices) {
      if (slice.main.dim() == 1) {
        slice.main.fill_(1.0);
      } else {
        slice.main.copy_(draw_normal(slice.main.sizes(), hash_of(seed, slice.name), init_std));
      }
    }
  }
  store.refresh_compute();
}

}  // namespace weft
