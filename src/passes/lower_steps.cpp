#include "passes/lower_steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "passes/cell_times.h"
#include "passes/chains.h"
#include "passes/join_cells.h"
#include "passes/place_reductions.h"
#include "passes/weave.h"

namespace weft {
namespace {

// Whole compute cells between the start of a send and its wait, and from the moment when its
// receiver has started.
constexpr int kCellsUnderSend = 1;
constexpr int kCellsOfGrace = 1;

WeaveProblem problem_of(const std::vector<Action>& actions, const Layout& layout,
                        const Costs& costs) {
  WeaveProblem problem;
  for (const Action& action : actions) {
    const ChainRequest request{action.stage, action.micro_batch};
    switch (action.kind) {
      case ActionKind::Forward:
        add_forward(problem, layout, costs, request);
        break;
      case ActionKind::Backward:
        add_backward(problem, layout, costs, request, true);
        break;
      case ActionKind::Dgrad:
        add_backward(problem, layout, costs, request, false);
        break;
      case ActionKind::Wgrad:
        add_wgrads(problem, layout, costs, request);
        break;
      case ActionKind::SendForward:
      case ActionKind::RecvForward:
      case ActionKind::SendBackward:
      case ActionKind::RecvBackward:
      case ActionKind::ReduceGrad:
        throw InternalError("a transfer has no segments");
    }
  }
  return problem;
}

// The problem without its numbers of stages, layers and micro-batches: what an order depends on, as
// long as the costs stay the same.
std::vector<int> shape_of(const WeaveProblem& problem, const Layout& layout) {
  std::vector<int> shape;
  const auto add_list = [&](const std::vector<int>& list) {
    shape.push_back(static_cast<int>(list.size()));
    shape.insert(shape.end(), list.begin(), list.end());
  };
  for (const WeaveTask& task : problem.tasks) {
    shape.push_back(task.run ? static_cast<int>(task.run->index()) : -1);
    if (task.run) {
      const Segment& segment = std::visit(
          [](const auto& step) -> const Segment& {
            if constexpr (requires { step.segment; }) {
              return step.segment;
            } else {
              throw InternalError("a task runs a segment");
            }
          },
          *task.run);
      shape.push_back(static_cast<int>(segment.kind));
      shape.push_back(key_of(layout, segment).moe);
    }
    add_list(task.after);
    add_list(task.waits);
    add_list(task.starts);
  }
  for (const WeaveWire& wire : problem.wires) {
    shape.push_back(static_cast<int>(wire.wire.kind));
    const bool hand_over = is_hand_over(wire.wire.kind);
    shape.push_back(hand_over ? hidden_states_behind(layout)[edge_of(wire.wire)] : 0);
  }
  return shape;
}

void finish_wire(std::vector<Step>& steps, const WeaveWire& wire) {
  steps.push_back(WaitWire{wire.wire});
  if (!wire.posted) steps.push_back(Release{wire.wire});
}

// Eager: a wire is waited for behind its start; else ahead of the task that needs it.
std::vector<Step> steps_of(const WeaveProblem& problem, const std::vector<int>& order, bool eager) {
  std::vector<Step> steps;
  for (int index : order) {
    const WeaveTask& task = problem.tasks[index];
    for (int wire : task.waits) {
      if (!eager || problem.wires[wire].posted) finish_wire(steps, problem.wires[wire]);
    }
    if (task.run) steps.push_back(*task.run);
    for (int wire : task.starts) {
      steps.push_back(StartWire{problem.wires[wire].wire});
      if (eager && !problem.wires[wire].kept) finish_wire(steps, problem.wires[wire]);
    }
  }
  return steps;
}

// Steps of compute cells, worked out once per cell kind and stages, and woven once per shape.
class CellSteps {
 public:
  CellSteps(const Layout& layout, const Costs& costs, bool overlap)
      : layout_(layout), costs_(costs), overlap_(overlap) {}

  void append(const std::vector<Action>& actions, std::vector<Step>& steps) {
    const std::vector<Step>& cell = find(actions);
    const std::size_t first = steps.size();
    steps.insert(steps.end(), cell.begin(), cell.end());
    for (std::size_t i = first; i < steps.size(); ++i) {
      std::visit([&](auto& step) { number(step, actions); }, steps[i]);
    }
  }

 private:
  using Key = std::vector<std::pair<ActionKind, Stage>>;

  template <class S>
  static void number(S& step, const std::vector<Action>& actions) {
    if constexpr (requires { step.segment; }) {
      step.segment.micro_batch = actions[step.segment.micro_batch.value].micro_batch;
    } else {
      step.wire.micro_batch = actions[step.wire.micro_batch.value].micro_batch;
    }
  }

  const std::vector<Step>& find(const std::vector<Action>& actions) {
    Key key;
    for (const Action& action : actions) key.emplace_back(action.kind, action.stage);
    const auto it = templates_.find(key);
    if (it != templates_.end()) return it->second;
    std::vector<Action> slots = actions;
    // In a template a micro-batch is the position of its action in the cell.
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i].micro_batch = MicroBatch(static_cast<int>(i));
    }
    const WeaveProblem problem = problem_of(slots, layout_, costs_);
    return templates_.emplace(key, steps_of(problem, order_of(problem), !overlap_)).first->second;
  }

  std::vector<int> order_of(const WeaveProblem& problem) {
    if (!overlap_ || problem.wires.empty()) {
      std::vector<int> listed(problem.tasks.size());
      std::iota(listed.begin(), listed.end(), 0);
      return listed;
    }
    const std::vector<int> shape = shape_of(problem, layout_);
    const auto it = orders_.find(shape);
    if (it != orders_.end()) return it->second;
    return orders_.emplace(shape, weave(problem)).first->second;
  }

  const Layout& layout_;
  const Costs& costs_;
  const bool overlap_;
  std::map<Key, std::vector<Step>> templates_;
  std::map<std::vector<int>, std::vector<int>> orders_;
};

// A send that has started and is not yet waited for.
struct OpenSend {
  Action action;
  int started = 0;     // number of compute cells done at its start
  int not_before = 0;  // when the receiver has started its end
  int grace = kCellsOfGrace;
};

class StepLowering {
 public:
  StepLowering(const JoinedSchedule& joined, const Layout& layout, const Costs& costs,
               const StepOptions& options)
      : schedule_(joined.schedule),
        num_joined_(joined.num_joined),
        costs_(costs),
        options_(options),
        times_(cell_times(schedule_, num_joined_)),
        cells_(layout, costs, options.moe_fb_overlap) {
    plan_.layout = layout;
    plan_.num_micro_batches = schedule_.num_micro_batches;
    find_receive_times();
  }

  StepPlan run() {
    plan_.ranks.resize(schedule_.ranks.size());
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      lower_rank(static_cast<int>(rank));
    }
    return std::move(plan_);
  }

 private:
  void find_receive_times() {
    const std::size_t n = schedule_.map.num_stages() * schedule_.num_micro_batches;
    forward_receives_.assign(n, 0);
    backward_receives_.assign(n, 0);
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        const Action* action = std::get_if<Action>(&schedule_.ranks[rank][i]);
        if (action == nullptr) continue;
        if (action->kind == ActionKind::RecvForward) {
          forward_receives_[index_of(action->stage.value, action->micro_batch)] =
              times_.start[rank][i];
        } else if (action->kind == ActionKind::RecvBackward) {
          backward_receives_[index_of(action->stage.value, action->micro_batch)] =
              times_.start[rank][i];
        }
      }
    }
  }

  std::size_t index_of(int stage, MicroBatch m) const {
    return stage * schedule_.num_micro_batches + m.value;
  }

  void lower_rank(int rank) {
    RankSteps& out = plan_.ranks[rank];
    open_.clear();
    int done = 0;  // compute cells
    int time = 0;  // end of the last of them
    const std::vector<Cell>& cells = schedule_.ranks[rank];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (num_joined_[rank][i] == 0) continue;
      std::vector<Action> actions = compute_actions(cells[i]);
      if (actions.empty()) {
        lower_transfer(std::get<Action>(cells[i]), done, out);
        continue;
      }
      std::vector<Action> joined;
      for (int j = 1; j < num_joined_[rank][i]; ++j) {
        joined.push_back(std::get<Action>(cells[i + j]));
      }
      actions.insert(actions.end(), joined.begin(), joined.end());
      finish_sends(done, time, out);
      const std::size_t first = out.steps.size();
      cells_.append(actions, out.steps);
      close_span(out, cells[i], first);
      out.spans.back().joined = std::move(joined);
      ++done;
      time = times_.end[rank][i];
    }
    finish_all_sends(out);
    if (!options_.overlap_grad_reduce) {
      for (const Cell& cell : cells) {
        const Action* action = std::get_if<Action>(&cell);
        if (action != nullptr && action->kind == ActionKind::ReduceGrad) hold_place(cell, out);
      }
    }
    place_reductions(out, plan_.layout, costs_, options_.overlap_grad_reduce);
  }

  // For place_reductions.
  static void hold_place(const Cell& cell, RankSteps& out) {
    close_span(out, cell, out.steps.size());
  }

  void lower_transfer(const Action& action, int done, RankSteps& out) {
    const int stage = action.stage.value;
    switch (action.kind) {
      case ActionKind::RecvForward:
      case ActionKind::RecvBackward: {
        const std::size_t first = out.steps.size();
        out.steps.push_back(StartWire{wire_of(action)});
        close_span(out, action, first);
        break;
      }
      case ActionKind::SendForward:
        open_.push_back({action, done, forward_receives_[index_of(stage + 1, action.micro_batch)]});
        break;
      case ActionKind::SendBackward:
        open_.push_back(
            {action, done, backward_receives_[index_of(stage - 1, action.micro_batch)]});
        break;
      case ActionKind::ReduceGrad:
        if (options_.overlap_grad_reduce) hold_place(action, out);
        break;  // else behind the last sends
      case ActionKind::Forward:
      case ActionKind::Backward:
      case ActionKind::Dgrad:
      case ActionKind::Wgrad:
        throw InternalError("a compute cell is no transfer");
    }
  }

  // Waits for the sends that are old enough, ahead of the next compute cell.
  void finish_sends(int done, int time, RankSteps& out) {
    std::erase_if(open_, [&](OpenSend& send) {
      if (done < send.started + kCellsUnderSend || time < send.not_before) return false;
      if (send.grace-- > 0) return false;
      finish_send(send.action, out);
      return true;
    });
  }

  void finish_all_sends(RankSteps& out) {
    for (const OpenSend& send : open_) finish_send(send.action, out);
    open_.clear();
  }

  static void finish_send(const Action& action, RankSteps& out) {
    const std::size_t first = out.steps.size();
    out.steps.push_back(WaitWire{wire_of(action)});
    out.steps.push_back(Release{wire_of(action)});
    close_span(out, action, first);
  }

  static Wire wire_of(const Action& action) {
    const auto wire = [&](WireKind kind) {
      return Wire{kind, action.stage, -1, action.micro_batch};
    };
    switch (action.kind) {
      case ActionKind::SendForward:
        return wire(WireKind::SendForward);
      case ActionKind::RecvForward:
        return wire(WireKind::RecvForward);
      case ActionKind::SendBackward:
        return wire(WireKind::SendBackward);
      case ActionKind::RecvBackward:
        return wire(WireKind::RecvBackward);
      case ActionKind::ReduceGrad:
      case ActionKind::Forward:
      case ActionKind::Backward:
      case ActionKind::Dgrad:
      case ActionKind::Wgrad:
        break;
    }
    throw InternalError("neither a send nor a receive");
  }

  static void close_span(RankSteps& out, const Cell& cell, std::size_t first) {
    out.spans.push_back({cell, first, out.steps.size() - first});
  }

  const Schedule& schedule_;
  const std::vector<std::vector<int>>& num_joined_;
  const Costs& costs_;
  const StepOptions options_;
  const CellTimes times_;
  CellSteps cells_;
  StepPlan plan_;
  std::vector<int> forward_receives_;   // [stage, micro-batch] when its receive starts
  std::vector<int> backward_receives_;  // likewise
  std::vector<OpenSend> open_;          // of the rank being lowered, in order of start
};

}  // namespace

StepPlan lower_steps(const Schedule& transfers, const Layout& layout, const Costs& costs,
                     const StepOptions& options) {
  weft_assert(transfers.map == layout.map, "schedule and layout have one stage map");
  weft_assert(options.moe_fb_overlap || !options.overlap_outside_steady,
              "joined cells are woven under the overlap");
  const JoinedSchedule joined =
      options.overlap_outside_steady ? join_cells(transfers) : join_nothing(transfers);
  return StepLowering(joined, layout, costs, options).run();
}

}  // namespace weft
