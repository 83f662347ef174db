#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "passes/chains.h"
#include "passes/deadlock.h"
#include "passes/stage_events.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kAbsent = -1;

// The four steps of one hand-over, as places among its ranks' hand-over steps.
struct Message {
  int send_start = kAbsent, send_wait = kAbsent, recv_start = kAbsent, recv_wait = kAbsent;
};

// Of a bucket of gradients, on its rank.
struct Reduction {
  int last_wgrad = kAbsent;
  int reduce = kAbsent, reduced = kAbsent;  // start and wait
  int gather = kAbsent, gathered = kAbsent;
};

const Wire* wire_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> const Wire* {
        if constexpr (requires { s.wire; }) {
          return &s.wire;
        } else {
          return nullptr;
        }
      },
      step);
}

std::pair<Stage, MicroBatch> owner_of(const Step& step) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.segment; }) {
          return std::pair(s.segment.stage, s.segment.micro_batch);
        } else {
          return std::pair(s.wire.stage, s.wire.micro_batch);
        }
      },
      step);
}

class StepVerifier {
 public:
  StepVerifier(const StepPlan& plan, bool forward_only)
      : plan_(plan),
        num_stages_(plan.layout.map.num_stages()),
        reductions_(num_stages_),
        messages_(2 * num_stages_ * std::max(0, plan.num_micro_batches)),
        hand_overs_(plan.ranks.size()) {
    for (int s = 0; s < num_stages_; ++s) {
      events_.emplace_back(plan.layout, Stage(s), forward_only);
      for (int layer : gradient_buckets(plan.layout, Stage(s))) reductions_[s][layer];
    }
  }

  std::vector<Finding> run() {
    const int num_ranks = plan_.layout.map.num_ranks;
    if (static_cast<int>(plan_.ranks.size()) != num_ranks) {
      report("{} lists for {} ranks", plan_.ranks.size(), num_ranks);
      return findings_;
    }
    for (int rank = 0; rank < num_ranks; ++rank) check_rank(rank);
    check_reductions();
    if (findings_.empty()) check_queues();
    if (findings_.empty()) check_data_flow();
    return findings_;
  }

 private:
  // Where the events of a rank's stages stand, [chunk, micro-batch, event].
  struct Table {
    std::vector<std::size_t> offset;  // of each chunk
    std::vector<int> places;
  };

  template <class... T>
  void report(fmt::format_string<T...> format, T&&... values) {
    findings_.push_back({"verify_steps", fmt::format(format, std::forward<T>(values)...)});
  }

  std::string name(int rank, int index) const {
    return fmt::format("rank {} step {} ({})", rank, index + 1,
                       print(plan_.ranks[rank].steps[index]));
  }

  int rank_of(int stage) const { return plan_.layout.map.rank_of(Stage(stage)).value; }

  Table empty_table(int rank) const {
    Table table;
    std::size_t size = 0;
    for (int c = 0; c < plan_.layout.map.chunks_per_rank; ++c) {
      table.offset.push_back(size);
      const Stage stage = plan_.layout.map.stage_of(Rank(rank), Chunk(c));
      size += static_cast<std::size_t>(events_[stage.value].size()) * plan_.num_micro_batches;
    }
    table.places.assign(size, kAbsent);
    return table;
  }

  int& place(Table& table, Stage stage, MicroBatch m, int event) const {
    const int chunk = plan_.layout.map.chunk_of(stage).value;
    return table.places[table.offset[chunk] +
                        static_cast<std::size_t>(m.value) * events_[stage.value].size() + event];
  }

  void check_rank(int rank) {
    check_spans(rank);
    Table table = empty_table(rank);
    const auto& steps = plan_.ranks[rank].steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const int index = static_cast<int>(i);
      const auto [stage, m] = owner_of(steps[i]);
      if (stage.value < 0 || stage.value >= num_stages_ || rank_of(stage.value) != rank) {
        report("{}: stage {} is not on this rank", name(rank, index), stage.value);
        continue;
      }
      const Wire* wire = wire_of(steps[i]);
      if (wire != nullptr && is_gradient_wire(wire->kind)) {
        place_reduction(rank, index);
        continue;
      }
      place_step(rank, index, table);
    }
    for (int c = 0; c < plan_.layout.map.chunks_per_rank; ++c) {
      const Stage stage = plan_.layout.map.stage_of(Rank(rank), Chunk(c));
      for (int m = 0; m < plan_.num_micro_batches; ++m) {
        check_micro_batch(rank, stage, MicroBatch(m), table);
      }
    }
  }

  void check_spans(int rank) {
    std::size_t next = 0;
    for (const StepSpan& span : plan_.ranks[rank].spans) {
      if (span.first != next) break;
      next += span.count;
    }
    if (next != plan_.ranks[rank].steps.size()) {
      report("rank {}: its spans do not part its {} steps", rank, plan_.ranks[rank].steps.size());
    }
  }

  void place_step(int rank, int index, Table& table) {
    const Step& step = plan_.ranks[rank].steps[index];
    const auto [stage, m] = owner_of(step);
    const std::optional<int> event = events_[stage.value].find(step);
    if (m.value < 0 || m.value >= plan_.num_micro_batches || !event) {
      report("{}: stage {} has no such step", name(rank, index), stage.value);
      return;
    }
    int& seen = place(table, stage, m, *event);
    if (seen != kAbsent) {
      report("{}: done at step {} already", name(rank, index), seen + 1);
      return;
    }
    seen = index;
    if (const auto* run = std::get_if<RunWgrad>(&step)) {
      reductions_[stage.value][run->segment.layer].last_wgrad = index;
    }
    if (const Wire* wire = wire_of(step)) note_hand_over(rank, index, *wire);
  }

  // Remembers the start or wait of a send or receive.
  void note_hand_over(int rank, int index, const Wire& wire) {
    const Step& step = plan_.ranks[rank].steps[index];
    if (std::holds_alternative<Release>(step)) return;
    const bool start = std::holds_alternative<StartWire>(step);
    const int s = wire.stage.value;
    const auto note = [&](Direction direction, int edge, int Message::* at_start,
                          int Message::* at_wait) {
      message(direction, edge, wire.micro_batch).*(start ? at_start : at_wait) =
          static_cast<int>(hand_overs_[rank].size());
      hand_overs_[rank].push_back(index);
    };
    using enum Direction;
    switch (wire.kind) {
      case WireKind::SendForward:
        note(Forward, s, &Message::send_start, &Message::send_wait);
        break;
      case WireKind::RecvForward:
        note(Forward, s - 1, &Message::recv_start, &Message::recv_wait);
        break;
      case WireKind::SendBackward:
        note(Backward, s - 1, &Message::send_start, &Message::send_wait);
        break;
      case WireKind::RecvBackward:
        note(Backward, s, &Message::recv_start, &Message::recv_wait);
        break;
      case WireKind::Counts:
      case WireKind::Dispatch:
      case WireKind::Combine:
      case WireKind::CombineBackward:
      case WireKind::DispatchBackward:
      case WireKind::ReduceGrad:
      case WireKind::GatherGrad:
        break;
    }
  }

  Message& message(Direction direction, int edge, MicroBatch m) {
    return messages_[(static_cast<int>(direction) * num_stages_ + edge) * plan_.num_micro_batches +
                     m.value];
  }

  void place_reduction(int rank, int index) {
    const Step& step = plan_.ranks[rank].steps[index];
    if (std::holds_alternative<Release>(step)) {
      report("{}: a gradient is not given back", name(rank, index));
      return;
    }
    const Wire& wire = *wire_of(step);
    auto& reductions = reductions_[wire.stage.value];
    const auto found = reductions.find(wire.layer);
    if (found == reductions.end()) {
      report("{}: stage {} has no such gradients", name(rank, index), wire.stage.value);
      return;
    }
    const bool start = std::holds_alternative<StartWire>(step);
    Reduction& at = found->second;
    int& seen = wire.kind == WireKind::ReduceGrad ? (start ? at.reduce : at.reduced)
                                                  : (start ? at.gather : at.gathered);
    if (seen != kAbsent) report("{}: done at step {} already", name(rank, index), seen + 1);
    seen = index;
  }

  void check_micro_batch(int rank, Stage stage, MicroBatch m, Table& table) {
    const StageEvents& events = events_[stage.value];
    for (int e = 0; e < events.size(); ++e) {
      if (place(table, stage, m, e) != kAbsent) continue;
      report("rank {}: {} is missing", rank, print(events.step(e, m)));
    }
    for (const auto& [a, b] : events.order()) {
      check_order(rank, place(table, stage, m, a), place(table, stage, m, b));
    }
    // Hand-overs without a message.
    const Stage next(stage.value + 1);
    if (next.value >= num_stages_ || rank_of(next.value) != rank) return;
    const StageEvents& after = events_[next.value];
    check_order(rank, place(table, stage, m, events.last_forward()),
                place(table, next, m, after.first_forward()));
    if (after.last_backward() < 0) return;
    check_order(rank, place(table, next, m, after.last_backward()),
                place(table, stage, m, events.first_backward()));
  }

  void check_order(int rank, int first, int second) {
    if (first == kAbsent || second == kAbsent || first < second) return;
    report("{} stands before {}, which it needs", name(rank, second), name(rank, first));
  }

  // All buckets are reduced and gathered or none is.
  void check_reductions() {
    bool any = false;
    for (const auto& buckets : reductions_) {
      for (const auto& [layer, at] : buckets) {
        any |= std::max({at.reduce, at.reduced, at.gather, at.gathered}) != kAbsent;
      }
    }
    for (int s = 0; any && s < num_stages_; ++s) {
      for (const auto& [layer, at] : reductions_[s]) check_reduction(Stage(s), layer, at);
    }
  }

  void check_reduction(Stage stage, int layer, const Reduction& at) {
    const int rank = rank_of(stage.value);
    const Wire reduce{WireKind::ReduceGrad, stage, layer, MicroBatch(0)};
    const Wire gather{WireKind::GatherGrad, stage, layer, MicroBatch(0)};
    const auto require = [&](int place, const Step& step) {
      if (place == kAbsent) report("rank {}: {} is missing", rank, print(step));
    };
    require(at.reduce, StartWire{reduce});
    require(at.reduced, WaitWire{reduce});
    require(at.gather, StartWire{gather});
    require(at.gathered, WaitWire{gather});
    check_order(rank, at.reduce, at.reduced);
    check_order(rank, at.reduced, at.gather);
    check_order(rank, at.gather, at.gathered);
    if (at.reduce == kAbsent || at.reduce > at.last_wgrad) return;
    report("{} adds to a gradient after {}", name(rank, at.last_wgrad), name(rank, at.reduce));
  }

  // Each (edge, direction) is one queue: both ends start its messages in one order.
  void check_queues() {
    for (int direction = 0; direction < 2; ++direction) {
      for (int edge = 0; edge + 1 < num_stages_; ++edge) {
        check_queue(Direction{direction}, edge);
      }
    }
  }

  void check_queue(Direction direction, int edge) {
    const auto [from, to] = ranks_of(direction, edge);
    if (from == to) return;
    std::map<int, int> starts;  // of the send -> of the receive
    for (int m = 0; m < plan_.num_micro_batches; ++m) {
      const Message& x = message(direction, edge, MicroBatch(m));
      if (x.send_start != kAbsent) starts.emplace(x.send_start, x.recv_start);
    }
    for (auto it = starts.begin(); it != starts.end() && std::next(it) != starts.end(); ++it) {
      const auto next = std::next(it);
      if (it->second < next->second) continue;
      report("crossed: {} comes before {}, but {} before {}", hand_over_name({from, it->first}),
             hand_over_name({from, next->first}), hand_over_name({to, next->second}),
             hand_over_name({to, it->second}));
    }
  }

  std::pair<int, int> ranks_of(Direction direction, int edge) const {
    const bool forward = direction == Direction::Forward;
    return {rank_of(forward ? edge : edge + 1), rank_of(forward ? edge + 1 : edge)};
  }

  std::string hand_over_name(Place p) const { return name(p.list, hand_overs_[p.list][p.index]); }

  // With no buffer between the ranks a message is through when both ends have started.
  void check_data_flow() {
    WaitGraph graph;
    for (const auto& row : hand_overs_) graph.needs.emplace_back(row.size());
    for (int direction = 0; direction < 2; ++direction) {
      for (int edge = 0; edge + 1 < num_stages_; ++edge) {
        const auto [from, to] = ranks_of(Direction{direction}, edge);
        for (int m = 0; m < plan_.num_micro_batches; ++m) {
          const Message& x = message(Direction{direction}, edge, MicroBatch(m));
          if (x.send_start == kAbsent) continue;
          graph.needs[to][x.recv_wait].push_back({from, x.send_start});
          graph.needs[from][x.send_wait].push_back({to, x.recv_start});
        }
      }
    }
    const std::vector<Place> cycle = find_deadlock(graph);
    if (cycle.empty()) return;
    report("the ranks wait for each other for ever: {}",
           print_deadlock(graph, cycle, [this](Place p) { return hand_over_name(p); }));
  }

  const StepPlan& plan_;
  const int num_stages_;
  std::vector<StageEvents> events_;           // [stage]
  std::vector<std::map<int, Reduction>> reductions_;  // [stage] by bucket
  std::vector<Message> messages_;             // [direction, edge, micro-batch]
  std::vector<std::vector<int>> hand_overs_;  // [rank] its starts and waits of sends and receives
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify_steps(const StepPlan& plan, bool forward_only) {
  return StepVerifier(plan, forward_only).run();
}

}  // namespace weft
