#include "passes/cell_durations.h"

#include <map>

#include "base/error.h"
#include "passes/cell_times.h"
#include "passes/chains.h"
#include "passes/weave.h"

namespace weft {
namespace {

// What the duration of an action depends on: its kind, what its stage holds, receives and sends.
using Shape = std::vector<int>;

void add_shape(const Layout& layout, const Action& action, Shape& shape) {
  const int s = action.stage.value;
  const int last = layout.map.num_stages() - 1;
  const StageLayers& stage = layout.stages[s];
  shape.push_back(static_cast<int>(action.kind));
  shape.push_back(s > 0 && !layout.map.is_local(Stage(s - 1), Stage(s)));
  shape.push_back(s < last && !layout.map.is_local(Stage(s), Stage(s + 1)));
  shape.push_back(stage.embedding);
  shape.push_back(stage.loss);
  shape.push_back(static_cast<int>(stage.mtp_layers.size()));
  shape.push_back(hidden_states_behind(layout)[s]);
  for (const int layer : stage.decoder_layers) {
    shape.push_back(static_cast<int>(layout.layer_kinds[layer]));
  }
  shape.push_back(-1);
}

void add_chain(WeaveProblem& problem, const Layout& layout, const Costs& costs,
               const Action& action, int slot) {
  const ChainRequest request{action.stage, MicroBatch(slot)};
  switch (action.kind) {
    case ActionKind::Forward:
      return add_forward(problem, layout, costs, request);
    case ActionKind::Backward:
      return add_backward(problem, layout, costs, request, true);
    case ActionKind::Dgrad:
      return add_backward(problem, layout, costs, request, false);
    case ActionKind::Wgrad:
      return add_wgrads(problem, layout, costs, request);
    case ActionKind::SendForward:
    case ActionKind::RecvForward:
    case ActionKind::SendBackward:
    case ActionKind::RecvBackward:
    case ActionKind::ReduceGrad:
      break;
  }
  throw InternalError("a transfer has no segments");
}

double duration(const std::vector<Action>& actions, const Layout& layout, const Costs& costs,
                bool overlap) {
  WeaveProblem problem;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    add_chain(problem, layout, costs, actions[i], static_cast<int>(i));
  }
  if (overlap && !problem.wires.empty()) {
    const std::vector<int> order = weave(problem);
    for (WeaveWire& wire : problem.wires) {
      if (wire.kept) wire.cost = 0;
    }
    return weave_times(problem, order).end;
  }
  double sum = 0;
  for (const WeaveTask& task : problem.tasks) sum += task.cost;
  for (const WeaveWire& wire : problem.wires) {
    if (!wire.kept && !wire.posted) sum += wire.cost;
  }
  return sum;
}

}  // namespace

std::vector<double> cell_durations(const std::vector<Cell>& cells, const Layout& layout,
                                   const Costs& costs, bool overlap) {
  std::map<Shape, double> known;
  std::vector<double> durations;
  for (const Cell& cell : cells) {
    const std::vector<Action> actions = compute_actions(cell);
    Shape shape;
    for (const Action& action : actions) add_shape(layout, action, shape);
    const auto [it, added] = known.emplace(std::move(shape), 0);
    if (added) it->second = duration(actions, layout, costs, overlap);
    durations.push_back(it->second);
  }
  return durations;
}

}  // namespace weft
