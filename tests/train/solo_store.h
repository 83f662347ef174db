// A few parameters without a model around them.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <string>
#include <vector>

#include "model/parameters.h"

namespace weft::testing {

// Adds a parameter [names.size() * rows, columns], cut by rows into one slice per name.
inline Parameter& add_parameter(ParameterStore& store, const std::vector<std::string>& names,
                                std::int64_t rows, std::int64_t columns) {
  const auto num = static_cast<std::int64_t>(names.size());
  Parameter parameter;
  parameter.main = at::zeros({num * rows, columns}, store.main_type);
  parameter.grad = at::zeros_like(parameter.main);
  parameter.compute = parameter.main;
  for (std::int64_t i = 0; i < num; ++i) {
    parameter.slices.push_back({names[static_cast<std::size_t>(i)],
                                parameter.main.slice(0, i * rows, (i + 1) * rows),
                                parameter.grad.slice(0, i * rows, (i + 1) * rows)});
  }
  return store.parameters.emplace_back(std::move(parameter));
}

// Weights and gradients that differ from name to name and from element to element, in a way that
// does not depend on what else the store holds.
inline void fill_by_name(ParameterStore& store, double salt = 0) {
  for (Parameter& parameter : store.parameters) {
    for (NamedSlice& slice : parameter.slices) {
      double value = salt;
      for (const char c : slice.name) value = value * 1.7 + c;
      const at::Tensor index = at::arange(slice.main.numel(), at::kDouble).view(slice.main.sizes());
      slice.main.copy_(at::sin(index + value));
      slice.grad.copy_(at::cos(index * 3 + value));
    }
  }
  store.refresh_compute();
}

}  // namespace weft::testing
