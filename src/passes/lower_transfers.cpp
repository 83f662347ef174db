#include "passes/lower_transfers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "passes/cell_times.h"

namespace weft {
namespace {

struct Message {
  Action send;
  Action recv;
  int to = 0;      // rank
  int behind = 0;  // the sender's cell that produces it
  int ahead = 0;   // the receiver's cell ahead of which the receive starts
};

// The message that a compute action gives to the next stage in its direction, if it leaves the
// rank.
std::optional<Message> message_of(const StageMap& map, const Action& action, int cell) {
  if (action.kind == ActionKind::Wgrad) return std::nullopt;
  const bool forward = action.kind == ActionKind::Forward;
  const Stage next(action.stage.value + (forward ? 1 : -1));
  if (next.value < 0 || next.value >= map.num_stages() || map.is_local(action.stage, next)) {
    return std::nullopt;
  }
  Message message;
  message.send = {forward ? ActionKind::SendForward : ActionKind::SendBackward, action.stage,
                  action.micro_batch};
  message.recv = {forward ? ActionKind::RecvForward : ActionKind::RecvBackward, next,
                  action.micro_batch};
  message.to = map.rank_of(next).value;
  message.behind = cell;
  return message;
}

// The cell in which each (stage, micro-batch) is computed, [stage * M + micro-batch].
struct Consumers {
  std::vector<int> forward;
  std::vector<int> backward;
};

Consumers find_consumers(const Schedule& schedule) {
  const std::size_t n = schedule.map.num_stages() * schedule.num_micro_batches;
  Consumers consumers{std::vector<int>(n, -1), std::vector<int>(n, -1)};
  for (const auto& cells : schedule.ranks) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (const Action& action : compute_actions(cells[i])) {
        if (action.kind == ActionKind::Wgrad) continue;
        auto& row = action.kind == ActionKind::Forward ? consumers.forward : consumers.backward;
        row[action.stage.value * schedule.num_micro_batches + action.micro_batch.value] =
            static_cast<int>(i);
      }
    }
  }
  return consumers;
}

// [rank] what it sends, in order.
std::vector<std::vector<Message>> find_messages(const Schedule& schedule) {
  const Consumers consumers = find_consumers(schedule);
  std::vector<std::vector<Message>> messages(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto& cells = schedule.ranks[rank];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (const Action& action : compute_actions(cells[i])) {
        auto message = message_of(schedule.map, action, static_cast<int>(i));
        if (!message) continue;
        const auto& row =
            message->recv.kind == ActionKind::RecvForward ? consumers.forward : consumers.backward;
        const int consumer = row[message->recv.stage.value * schedule.num_micro_batches +
                                 message->recv.micro_batch.value];
        weft_assert(consumer >= 0, "a verified order computes every stage and micro-batch");
        message->ahead = std::max(0, consumer - 1);
        messages[rank].push_back(*message);
      }
    }
  }
  return messages;
}

// Moves receives ahead until each rank receives from each other one in the order of its sends.
void order_receives(std::vector<Message>& sent) {
  std::map<int, int> latest;  // by receiving rank: where the next message is received
  for (auto it = sent.rbegin(); it != sent.rend(); ++it) {
    const auto [next, first] = latest.emplace(it->to, it->ahead);
    next->second = it->ahead = std::min(it->ahead, next->second);
  }
}

bool is_send(const Cell& cell) {
  const Action* action = std::get_if<Action>(&cell);
  return action != nullptr &&
         (action->kind == ActionKind::SendForward || action->kind == ActionKind::SendBackward);
}

// The place behind the cell with the stage's last W and the sends that follow it.
std::size_t behind_last_wgrad(const std::vector<Cell>& cells, Stage stage) {
  std::size_t place = cells.size();
  while (place > 0) {
    const std::vector<Action> actions = compute_actions(cells[place - 1]);
    const bool found = std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
      return action.stage == stage && action.kind != ActionKind::Forward;
    });
    if (found) break;
    --place;
  }
  while (place < cells.size() && is_send(cells[place])) ++place;
  return place;
}

}  // namespace

Schedule lower_transfers(const Schedule& compute, bool reduce_gradients, bool overlap_grad_reduce) {
  weft_assert(is_compute_level(compute), "lower_transfers takes a plan of the compute level");
  std::vector<std::vector<Message>> messages = find_messages(compute);
  // [rank][cell]: receives that start ahead of it, sends that start behind it.
  std::vector<std::vector<std::vector<Action>>> ahead(compute.ranks.size());
  auto behind = ahead;
  for (std::size_t rank = 0; rank < compute.ranks.size(); ++rank) {
    ahead[rank].resize(compute.ranks[rank].size());
    behind[rank].resize(compute.ranks[rank].size());
  }
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    order_receives(messages[rank]);
    for (const Message& message : messages[rank]) {
      behind[rank][message.behind].push_back(message.send);
      ahead[message.to][message.ahead].push_back(message.recv);
    }
  }
  Schedule lowered{compute.map, compute.num_micro_batches, {}};
  lowered.ranks.resize(compute.ranks.size());
  for (std::size_t rank = 0; rank < compute.ranks.size(); ++rank) {
    auto& cells = lowered.ranks[rank];
    for (std::size_t i = 0; i < compute.ranks[rank].size(); ++i) {
      cells.insert(cells.end(), ahead[rank][i].begin(), ahead[rank][i].end());
      cells.push_back(compute.ranks[rank][i]);
      cells.insert(cells.end(), behind[rank][i].begin(), behind[rank][i].end());
    }
  }
  if (reduce_gradients) add_reductions(lowered, overlap_grad_reduce);
  return lowered;
}

void add_reductions(Schedule& schedule, bool overlap_grad_reduce) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<Cell>& cells = schedule.ranks[rank];
    std::map<std::size_t, std::vector<Stage>> reduced;  // by the place that they go to
    for (int chunk = 0; chunk < schedule.map.chunks_per_rank; ++chunk) {
      const Stage stage = schedule.map.stage_of(Rank(static_cast<int>(rank)), Chunk(chunk));
      reduced[overlap_grad_reduce ? behind_last_wgrad(cells, stage) : cells.size()].push_back(
          stage);
    }
    for (auto it = reduced.rbegin(); it != reduced.rend(); ++it) {
      std::vector<Cell> reductions;
      for (Stage stage : it->second) {
        reductions.push_back(Action{ActionKind::ReduceGrad, stage, MicroBatch(0)});
      }
      cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(it->first), reductions.begin(),
                   reductions.end());
    }
  }
}

}  // namespace weft
