#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "passes/deadlock.h"
#include "passes/plan_text.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kAbsent = -1;

// One hand-over between two stages: where its four ends stand in the lists of their ranks.
struct Message {
  int produced = kAbsent;  // sender: the cell that computes it
  int sent = kAbsent;      // sender
  int received = kAbsent;  // receiver
  int used = kAbsent;      // receiver: the cell that needs it
};

// One queue: what stage `from` hands to its neighbour `to`.
struct Edge {
  Direction direction = Direction::Forward;
  int from = 0, to = 0;  // stages
  int from_rank = 0, to_rank = 0;

  Action send(int m) const {
    return {direction == Direction::Forward ? ActionKind::SendForward : ActionKind::SendBackward,
            Stage(from), MicroBatch(m)};
  }
  Action recv(int m) const {
    return {direction == Direction::Forward ? ActionKind::RecvForward : ActionKind::RecvBackward,
            Stage(to), MicroBatch(m)};
  }
};

// A transfer that is not the end of any message, or the second one of its kind.
struct Stray {
  Place place;
  int seen = kAbsent;  // the first one's index; kAbsent if no message goes there
};

// Where the ends of all messages and the reductions stand.
class TransferPlaces {
 public:
  explicit TransferPlaces(const Schedule& schedule)
      : schedule_(schedule),
        num_stages_(schedule.map.num_stages()),
        num_micro_batches_(std::max(0, schedule.num_micro_batches)),
        messages_(std::size_t{2} * num_stages_ * num_micro_batches_),
        last_wgrad_(num_stages_, kAbsent),
        reduced_(num_stages_) {
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        const Place place{static_cast<int>(rank), static_cast<int>(i)};
        const Cell& cell = schedule_.ranks[rank][i];
        if (const ActionPair* pair = std::get_if<ActionPair>(&cell)) {
          place_action(place, pair->forward);
          place_action(place, pair->backward);
        } else {
          place_action(place, std::get<Action>(cell));
        }
      }
    }
  }

  int num_stages() const { return num_stages_; }
  int num_micro_batches() const { return num_micro_batches_; }
  int rank_of(int stage) const { return schedule_.map.rank_of(Stage(stage)).value; }
  const std::vector<Stray>& strays() const { return strays_; }
  const std::vector<int>& reduced(int stage) const { return reduced_[stage]; }
  int last_wgrad(int stage) const { return last_wgrad_[stage]; }

  // The edges between two ranks, forward ones first.
  std::vector<Edge> edges() const {
    std::vector<Edge> all;
    for (const Direction direction : {Direction::Forward, Direction::Backward}) {
      const bool forward = direction == Direction::Forward;
      for (int s = 0; s + 1 < num_stages_; ++s) {
        const int from = forward ? s : s + 1;
        const int to = forward ? s + 1 : s;
        if (rank_of(from) == rank_of(to)) continue;
        all.push_back({direction, from, to, rank_of(from), rank_of(to)});
      }
    }
    return all;
  }
  const Message& message(const Edge& edge, int m) const {
    return messages_[slot(edge.direction, edge.from, m)];
  }

 private:
  std::size_t slot(Direction direction, int from, int m) const {
    const auto row = static_cast<std::size_t>(direction) * num_stages_ + from;
    return row * num_micro_batches_ + m;
  }

  // Sets one end of a message if the edge exists and joins two ranks. Of a cell that stands twice
  // the last one counts, of a transfer the first.
  void set_end(Place place, const Action& action, Direction direction, int from,
               int Message::* end) {
    const bool transfer = !is_compute(action.kind);
    const int to = direction == Direction::Forward ? from + 1 : from - 1;
    const bool exists = std::min(from, to) >= 0 && std::max(from, to) < num_stages_;
    if (!exists || rank_of(from) == rank_of(to)) {
      if (transfer) strays_.push_back({place, kAbsent});
      return;
    }
    int& seen = messages_[slot(direction, from, action.micro_batch.value)].*end;
    if (seen != kAbsent && transfer) {
      strays_.push_back({place, seen});
      return;
    }
    seen = place.index;
  }

  void place_action(Place place, const Action& action) {
    const int s = action.stage.value;
    const int m = action.micro_batch.value;
    const bool known = s >= 0 && s < num_stages_ && m >= 0 && m < num_micro_batches_;
    if (!known || rank_of(s) != place.list) {
      if (!is_compute(action.kind)) strays_.push_back({place, kAbsent});
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
        set_end(place, action, Backward, s, &Message::produced);
        set_end(place, action, Backward, s + 1, &Message::used);
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
        set_end(place, action, Backward, s, &Message::sent);
        break;
      case ActionKind::RecvBackward:
        set_end(place, action, Backward, s + 1, &Message::received);
        break;
      case ActionKind::ReduceGrad:
        reduced_[s].push_back(place.index);
        break;
    }
  }

  const Schedule& schedule_;
  const int num_stages_;
  const int num_micro_batches_;
  std::vector<Message> messages_;          // [direction, from, micro-batch]
  std::vector<int> last_wgrad_;            // [stage]
  std::vector<std::vector<int>> reduced_;  // [stage]
  std::vector<Stray> strays_;
};

// The ends of one message, one by one.
void check_message(const TransferPlaces& places, const Edge& edge, int m, const PlanText& text,
                   FindingList& findings) {
  const Message& x = places.message(edge, m);
  if (x.produced == kAbsent && x.used == kAbsent && x.sent == kAbsent && x.received == kAbsent) {
    return;  // a plan of forwards only
  }
  const Place produced{edge.from_rank, x.produced}, sent{edge.from_rank, x.sent};
  const Place received{edge.to_rank, x.received}, used{edge.to_rank, x.used};
  if (x.sent == kAbsent) {
    const std::string message =
        fmt::format("rank {}: {} is missing", edge.from_rank, print(edge.send(m)));
    findings.add(message, x.received == kAbsent ? std::vector<Place>{} : std::vector{received});
  }
  if (x.received == kAbsent) {
    const std::string message =
        fmt::format("rank {}: {} is missing", edge.to_rank, print(edge.recv(m)));
    findings.add(message, x.sent == kAbsent ? std::vector<Place>{} : std::vector{sent});
  }
  if (x.sent != kAbsent && x.produced != kAbsent && x.sent < x.produced) {
    findings.add(fmt::format("{} stands before {}, which computes what it sends", text.name(sent),
                             text.name(produced)),
                 {sent, produced});
  }
  if (x.received != kAbsent && x.used != kAbsent && x.used < x.received) {
    findings.add(
        fmt::format("{} needs what {} receives after it", text.name(used), text.name(received)),
        {used, received});
  }
}

}  // namespace

std::vector<Finding> verify_messages(const Schedule& schedule) {
  const TransferPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_messages", text);
  for (const Stray& stray : places.strays()) {
    const std::string name = text.name(stray.place);
    if (stray.seen == kAbsent) {
      findings.add(name + ": no message goes there", {stray.place});
      continue;
    }
    const Place first{stray.place.list, stray.seen};
    findings.add(fmt::format("{} stands at {} already", name, text.name(first)),
                 {first, stray.place});
  }
  for (const Edge& edge : places.edges()) {
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      check_message(places, edge, m, text, findings);
    }
  }
  return findings.take();
}

std::vector<Finding> verify_message_order(const Schedule& schedule) {
  const TransferPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_message_order", text);
  for (const Edge& edge : places.edges()) {
    std::map<int, int> sends;  // place of the send -> place of the receive
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const Message& x = places.message(edge, m);
      if (x.sent != kAbsent && x.received != kAbsent) sends.emplace(x.sent, x.received);
    }
    for (auto it = sends.begin(); it != sends.end() && std::next(it) != sends.end(); ++it) {
      const auto next = std::next(it);
      if (it->second < next->second) continue;
      const Place first{edge.from_rank, it->first}, second{edge.from_rank, next->first};
      const Place taken_first{edge.to_rank, next->second}, taken_second{edge.to_rank, it->second};
      findings.add(
          fmt::format("crossed: {} is sent before {}, but {} received before {}", text.name(first),
                      text.name(second), text.name(taken_first), text.name(taken_second)),
          {first, second, taken_first, taken_second});
    }
  }
  return findings.take();
}

std::vector<Finding> verify_reductions(const Schedule& schedule) {
  const TransferPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_reductions", text);
  bool any = false;
  for (int s = 0; s < places.num_stages(); ++s) any |= !places.reduced(s).empty();
  for (int s = 0; any && s < places.num_stages(); ++s) {
    const int rank = places.rank_of(s);
    const std::vector<int>& reduced = places.reduced(s);
    if (reduced.empty()) {
      findings.add(fmt::format("rank {}: {} is missing", rank,
                               print(Action{ActionKind::ReduceGrad, Stage(s), MicroBatch(0)})));
      continue;
    }
    const Place first{rank, reduced.front()}, wgrad{rank, places.last_wgrad(s)};
    for (std::size_t i = 1; i < reduced.size(); ++i) {
      const Place again{rank, reduced[i]};
      findings.add(fmt::format("{} stands at {} already", text.name(again), text.name(first)),
                   {first, again});
    }
    if (first.index < wgrad.index) {
      findings.add(fmt::format("{} stands before {}, which adds to the gradient", text.name(first),
                               text.name(wgrad)),
                   {first, wgrad});
    }
  }
  return findings.take();
}

// Starting a send or a receive never waits; the cell that needs a message waits for both.
std::vector<Finding> verify_rendezvous(const Schedule& schedule) {
  const TransferPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_rendezvous", text);
  WaitGraph graph;
  for (const auto& cells : schedule.ranks) graph.needs.emplace_back(cells.size());
  for (const Edge& edge : places.edges()) {
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const Message& x = places.message(edge, m);
      if (x.used == kAbsent || x.sent == kAbsent) continue;
      graph.needs[edge.to_rank][x.used].push_back({edge.from_rank, x.sent});
    }
  }
  findings.add_deadlock("the ranks wait for each other for ever", graph);
  return findings.take();
}

std::vector<Finding> verify_transfers(const Schedule& schedule) {
  std::vector<Finding> findings = verify_messages(schedule);
  std::ranges::move(verify_message_order(schedule), std::back_inserter(findings));
  std::ranges::move(verify_reductions(schedule), std::back_inserter(findings));
  std::ranges::move(verify_rendezvous(schedule), std::back_inserter(findings));
  return findings;
}

}  // namespace weft
