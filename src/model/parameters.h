// The parameters a rank holds: main weights and main gradients in one precision (FP32; FP64 for
// tests), compute copies in another, and the names they have in the unsharded model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/ids.h"
#include "layout/layout.h"

namespace weft {

// One tensor of the unsharded model, a view into a Parameter.
struct NamedSlice {
  std::string name;  // Hugging Face name, see cli.md
  at::Tensor main;   // view of Parameter::main
  at::Tensor grad;   // view of Parameter::grad
};

// One tensor as the model computes with it: q, k, v in one, gate and up in one, the experts of a
// layer stacked.
struct Parameter {
  at::Tensor main;     // main weights, FP32 or FP64, starts on 64 bytes
  at::Tensor grad;     // main gradient, as main
  at::Tensor compute;  // in the compute type; main itself where the types agree
  std::vector<NamedSlice> slices;
  bool expert = false;  // summed over edp instead of dp
  bool decay = true;    // weight decay applies: matrices, not norms
  Stage stage;
  int layer = -1;  // decoder layer; -1: embedding, final norm, head
};

// Owns the parameters of one rank; addresses stay valid.
struct ParameterStore {
  std::deque<Parameter> parameters;
  at::ScalarType main_type = at::kFloat;
  at::ScalarType compute_type = at::kFloat;
  at::Device device = at::kCPU;

  // Room for a tensor of this shape, zeros, without names yet. `full_precision`: the model computes
  // with the main weights whatever the compute type (the router).
  Parameter& add(at::IntArrayRef shape, Stage stage, bool full_precision = false);

  void zero_grad();
  void refresh_compute();  // compute copies from main weights, after an optimizer step
};

// Initial weights fixed by (seed, name) whatever the layout: normal with init_std for matrices,
// ones for norms (1-D). Drawn on the CPU in FP32, slice by slice in row-major order.
void initialise(ParameterStore& store, std::int64_t seed, double init_std);

}  // namespace weft
