// The elements of a schedule at the compute and transfers levels.
#pragma once

#include <compare>
#include <variant>

#include "base/ids.h"

namespace weft {

// Letters of the text form, after PyTorch's pipelining CSV: F B I W SEND_F RECV_F SEND_B RECV_B
// REDUCE_GRAD. A Backward is Dgrad (input gradient, I) and Wgrad (weight gradient, W) in one.
enum class ActionKind {
  Forward,
  Backward,
  Dgrad,
  Wgrad,
  SendForward,
  RecvForward,
  SendBackward,
  RecvBackward,
  ReduceGrad,
};

// `stage` is the stage that computes, sends or receives: the message that leaves stage 0 with
// 0SEND_F3 arrives with 1RECV_F3. ReduceGrad has no micro-batch; it holds 0 there.
struct Action {
  ActionKind kind = ActionKind::Forward;
  Stage stage;
  MicroBatch micro_batch;

  auto operator<=>(const Action&) const = default;
};

// One micro-batch's forward woven with another's backward: (0F4;7B1)OVERLAP_F_B.
struct ActionPair {
  Action forward;
  Action backward;

  auto operator<=>(const ActionPair&) const = default;
};

// One cell of a rank's list.
using Cell = std::variant<Action, ActionPair>;

constexpr bool is_compute(ActionKind kind) {
  return kind == ActionKind::Forward || kind == ActionKind::Backward || kind == ActionKind::Dgrad ||
         kind == ActionKind::Wgrad;
}

}  // namespace weft
