#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "passes/cell_times.h"
#include "passes/deadlock.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kAbsent = -1;

// One hand-over between ranks: where its four ends stand in the lists of the two ranks.
struct Message {
  int produced = kAbsent;  // sender: the cell that computes it
  int sent = kAbsent;      // sender
  int received = kAbsent;  // receiver
  int used = kAbsent;      // receiver: the cell that needs it
};

class TransferVerifier {
 public:
  explicit TransferVerifier(const Schedule& schedule)
      : schedule_(schedule), num_stages_(schedule.map.num_stages()) {
    messages_.resize(2 * num_stages_ * schedule.num_micro_batches);
    reduced_.resize(num_stages_, kAbsent);
    last_wgrad_.resize(num_stages_, kAbsent);
  }

  std::vector<Finding> run() {
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        place_cell(static_cast<int>(rank), static_cast<int>(i));
      }
    }
    for (int direction = 0; direction < 2; ++direction) {
      for (int edge = 0; edge + 1 < num_stages_; ++edge) check_edge(Direction{direction}, edge);
    }
    check_reductions();
    if (findings_.empty()) check_data_flow();
    return findings_;
  }

 private:
  template <class... T>
  void report(fmt::format_string<T...> format, T&&... values) {
    findings_.push_back({"verify_transfers", fmt::format(format, std::forward<T>(values)...)});
  }

  std::string name(Place p) const {
    return fmt::format("rank {} cell {} ({})", p.list, p.index + 1,
                       print(schedule_.ranks[p.list][p.index]));
  }

  Message& message(Direction direction, int edge, MicroBatch m) {
    return messages_[(static_cast<int>(direction) * num_stages_ + edge) *
                         schedule_.num_micro_batches +
                     m.value];
  }

  int rank_of(int stage) const { return schedule_.map.rank_of(Stage(stage)).value; }

  // Sets one end of a message if the edge exists and joins two ranks.
  void set_end(Place place, const Action& action, Direction direction, int edge,
               int Message::* end) {
    const bool transfer = !is_compute(action.kind);
    const bool exists = edge >= 0 && edge + 1 < num_stages_;
    if (!exists || rank_of(edge) == rank_of(edge + 1)) {
      if (transfer) report("{}: no message goes there", name(place));
      return;
    }
    int& seen = message(direction, edge, action.micro_batch).*end;
    if (seen != kAbsent && transfer) {
      report("{}: {} stands at {} already", name(place), print(action), name({place.list, seen}));
      return;
    }
    seen = place.index;
  }

  void place_cell(int rank, int index) {
    const Place place{rank, index};
    const Cell& cell = schedule_.ranks[rank][index];
    if (const ActionPair* pair = std::get_if<ActionPair>(&cell)) {
      place_action(place, pair->forward);
      place_action(place, pair->backward);
    } else {
      place_action(place, std::get<Action>(cell));
    }
  }

  void place_action(Place place, const Action& action) {
    const int s = action.stage.value;
    const int m = action.micro_batch.value;
    if (s < 0 || s >= num_stages_ || m < 0 || m >= schedule_.num_micro_batches) {
      report("{}: no such stage or micro-batch", name(place));
      return;
    }
    if (rank_of(s) != place.list) {
      report("{}: stage {} is on rank {}", name(place), s, rank_of(s));
      return;
    }
    using enum Direction;
    switch (action.kind) {
      case ActionKind::Forward:
        set_end(place, action, Forward, s, &Message::produced);
        set_end(place, action, Forward, s - 1, &Message::used);
        break;
      case ActionKind::Backward:
      case ActionKind::Dgrad:
        set_end(place, action, Backward, s - 1, &Message::produced);
        set_end(place, action, Backward, s, &Message::used);
        if (action.kind == ActionKind::Backward) last_wgrad_[s] = place.index;
        break;
      case ActionKind::Wgrad:
        last_wgrad_[s] = place.index;
        break;
      case ActionKind::SendForward:
        set_end(place, action, Forward, s, &Message::sent);
        break;
      case ActionKind::RecvForward:
        set_end(place, action, Forward, s - 1, &Message::received);
        break;
      case ActionKind::SendBackward:
        set_end(place, action, Backward, s - 1, &Message::sent);
        break;
      case ActionKind::RecvBackward:
        set_end(place, action, Backward, s, &Message::received);
        break;
      case ActionKind::ReduceGrad:
        if (reduced_[s] != kAbsent) report("{}: reduced twice", name(place));
        reduced_[s] = place.index;
        break;
    }
  }

  // One queue: its messages one by one, then their order.
  void check_edge(Direction direction, int edge) {
    const bool forward = direction == Direction::Forward;
    const int from = forward ? edge : edge + 1;
    const int to = forward ? edge + 1 : edge;
    std::map<int, int> sends;  // place of the send -> place of the receive
    for (int m = 0; m < schedule_.num_micro_batches; ++m) {
      const Message& x = message(direction, edge, MicroBatch(m));
      if (x.produced == kAbsent && x.used == kAbsent && x.sent == kAbsent &&
          x.received == kAbsent) {
        continue;  // a plan of forwards only
      }
      const Action send{forward ? ActionKind::SendForward : ActionKind::SendBackward, Stage(from),
                        MicroBatch(m)};
      const Action recv{forward ? ActionKind::RecvForward : ActionKind::RecvBackward, Stage(to),
                        MicroBatch(m)};
      if (x.produced == kAbsent || x.used == kAbsent) {
        report("{} of edge {}: micro-batch {} is not computed on both sides",
               forward ? "forward" : "backward", edge, m);
        continue;
      }
      if (x.sent == kAbsent) report("rank {}: {} is missing", rank_of(from), print(send));
      if (x.received == kAbsent) report("rank {}: {} is missing", rank_of(to), print(recv));
      if (x.sent != kAbsent && x.sent < x.produced) {
        report("{} stands before {}, which computes what it sends", name({rank_of(from), x.sent}),
               name({rank_of(from), x.produced}));
      }
      if (x.received != kAbsent && x.used < x.received) {
        report("{} needs what {} receives after it", name({rank_of(to), x.used}),
               name({rank_of(to), x.received}));
      }
      if (x.sent != kAbsent && x.received != kAbsent) sends.emplace(x.sent, x.received);
    }
    for (auto it = sends.begin(); it != sends.end() && std::next(it) != sends.end(); ++it) {
      const auto next = std::next(it);
      if (it->second < next->second) continue;
      report("crossed: rank {} sends {} before {}, rank {} receives {} before {}", rank_of(from),
             print(schedule_.ranks[rank_of(from)][it->first]),
             print(schedule_.ranks[rank_of(from)][next->first]), rank_of(to),
             print(schedule_.ranks[rank_of(to)][next->second]),
             print(schedule_.ranks[rank_of(to)][it->second]));
    }
  }

  void check_reductions() {
    const bool any =
        std::any_of(reduced_.begin(), reduced_.end(), [](int place) { return place != kAbsent; });
    for (int s = 0; any && s < num_stages_; ++s) {
      if (reduced_[s] == kAbsent) {
        report("rank {}: {} is missing", rank_of(s),
               print(Action{ActionKind::ReduceGrad, Stage(s), MicroBatch(0)}));
      } else if (reduced_[s] < last_wgrad_[s]) {
        report("{} stands before {}, which adds to the gradient", name({rank_of(s), reduced_[s]}),
               name({rank_of(s), last_wgrad_[s]}));
      }
    }
  }

  // Starting a send or a receive never waits; the cell that needs a message waits for both.
  void check_data_flow() {
    WaitGraph graph;
    graph.needs.resize(schedule_.ranks.size());
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      graph.needs[rank].resize(schedule_.ranks[rank].size());
    }
    for (int direction = 0; direction < 2; ++direction) {
      for (int edge = 0; edge + 1 < num_stages_; ++edge) {
        const bool forward = Direction{direction} == Direction::Forward;
        const int from = rank_of(forward ? edge : edge + 1);
        const int to = rank_of(forward ? edge + 1 : edge);
        for (int m = 0; m < schedule_.num_micro_batches; ++m) {
          const Message& x = message(Direction{direction}, edge, MicroBatch(m));
          if (x.used != kAbsent) graph.needs[to][x.used].push_back({from, x.sent});
        }
      }
    }
    const std::vector<Place> cycle = find_deadlock(graph);
    if (cycle.empty()) return;
    report("the ranks wait for each other for ever: {}",
           print_deadlock(graph, cycle, [this](Place p) { return name(p); }));
  }

  const Schedule& schedule_;
  const int num_stages_;
  std::vector<Message> messages_;  // [direction, edge, micro-batch]
  std::vector<int> reduced_;       // [stage]
  std::vector<int> last_wgrad_;    // [stage]
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify_transfers(const Schedule& schedule) {
  return TransferVerifier(schedule).run();
}

}  // namespace weft
