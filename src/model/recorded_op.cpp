#include "model/recorded_op.h"

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <type_traits>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

// Releases of LibTorch differ in who counts the references of a node.
template <class T, class... Args>
auto make_node(Args&&... args) {
  using Pointer = decltype(Edge::function);
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>) {
    return std::make_shared<T>(std::forward<Args>(args)...);
  } else {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  }
}

class RecordedOp final : public Node {
 public:
  explicit RecordedOp(BackwardFunction backward) : backward_(std::move(backward)) {}

  variable_list apply(variable_list&& gradients) override { return backward_(gradients); }
  void release_variables() override { backward_ = nullptr; }
  std::string name() const override { return "weft::RecordedOp"; }

 private:
  BackwardFunction backward_;
};

// Where a part of a graph begins. No edge leaves it.
class GraphInputs final : public Node {
 public:
  explicit GraphInputs(Tensors* gradients) : gradients_(gradients) {}

  variable_list apply(variable_list&& gradients) override {
    *gradients_ = std::move(gradients);
    return {};
  }
  std::string name() const override { return "weft::GraphInputs"; }

 private:
  Tensors* gradients_;
};

}  // namespace

void record(const Tensors& inputs, const Tensors& outputs, BackwardFunction backward) {
  if (!at::GradMode::is_enabled()) return;
  torch::autograd::edge_list next;
  bool needed = false;
  for (const at::Tensor& input : inputs) {
    needed = needed || input.requires_grad();
    next.push_back(input.requires_grad() ? torch::autograd::impl::gradient_edge(input) : Edge());
  }
  if (!needed) return;
  auto node = make_node<RecordedOp>(std::move(backward));
  node->set_next_edges(std::move(next));
  for (const at::Tensor& output : outputs) torch::autograd::set_history(output, node);
}

struct SegmentGraph::State {
  Tensors input_gradients;
  decltype(make_node<GraphInputs>(nullptr)) inputs = make_node<GraphInputs>(&input_gradients);
  torch::autograd::edge_list outputs;
};

SegmentGraph::State& SegmentGraph::state() {
  if (!state_) state_ = std::make_shared<State>();
  return *state_;
}

at::Tensor SegmentGraph::input(const at::Tensor& tensor) {
  at::Tensor leaf = tensor.detach();
  if (at::GradMode::is_enabled()) torch::autograd::set_history(leaf, state().inputs);
  return leaf;
}

at::Tensor SegmentGraph::output(const at::Tensor& tensor) {
  if (!at::GradMode::is_enabled()) return tensor;
  weft_assert(tensor.requires_grad(), "an output of a segment depends on its inputs");
  state().outputs.push_back(torch::autograd::impl::gradient_edge(tensor));
  return tensor.detach();
}

Tensors SegmentGraph::backward(Tensors output_gradients) {
  weft_assert(state_ != nullptr, "a segment has a graph until its backward has run");
  const std::shared_ptr<State> state = std::exchange(state_, nullptr);
  weft_assert(output_gradients.size() == state->outputs.size(), "one gradient per output");
  torch::autograd::edge_list roots;
  Tensors gradients;
  for (std::size_t i = 0; i < output_gradients.size(); ++i) {
    if (!output_gradients[i].defined()) continue;
    roots.push_back(std::move(state->outputs[i]));
    gradients.push_back(std::move(output_gradients[i]));
  }
  state->outputs.clear();
  state->input_gradients.resize(state->inputs->num_inputs());
  torch::autograd::Engine::get_default_engine().execute(
      roots, gradients, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true);
  return std::move(state->input_gradients);
}

}  // namespace weft
