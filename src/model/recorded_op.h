// Operations with a backward of their own on LibTorch's autograd graph. A backward here yields the
// gradients of inputs only; weights are not part of the graph, their gradients go to a PutOff.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace weft {

using Tensors = std::vector<at::Tensor>;

// Gradients of the outputs in, gradients of the inputs out, in the order given to `record`. An
// output that no one used has an undefined gradient; so may an input that needs none.
using BackwardFunction = std::function<Tensors(const Tensors&)>;

// Where an operation puts the W of its weight: a closure that adds to the main gradient and is run
// once, when the plan says so, without autograd.
using WgradTerm = std::function<void()>;
using PutOff = std::function<void(WgradTerm)>;

// Makes `backward` the history of `outputs`, which were computed outside the graph. Does nothing
// where gradients are off or no input needs one. What `backward` keeps must be detached, and it
// must not keep an input or output itself: it would hold the graph.
void record(const Tensors& inputs, const Tensors& outputs, BackwardFunction backward);

// Part of a graph, cut off from what comes before: gradients that reach its inputs are collected,
// outputs are kept as edges only, so that a tensor goes when its last reader has dropped it.
class SegmentGraph {
 public:
  // The same data as the next input of this part.
  at::Tensor input(const at::Tensor& tensor);
  // The same data without history; the part remembers where its gradient goes in.
  at::Tensor output(const at::Tensor& tensor);
  // Runs the backward in this thread and frees all that was saved. One gradient per output, in
  // their order, undefined for none; returns one per input. At most once.
  Tensors backward(Tensors output_gradients);

 private:
  struct State;
  State& state();

  std::shared_ptr<State> state_;
};

}  // namespace weft
