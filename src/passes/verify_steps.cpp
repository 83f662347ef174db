#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string>

#include "passes/deadlock.h"
#include "passes/plan_text.h"
#include "passes/step_places.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kNowhere = HandOverPlaces::kNowhere;

// Reports a pair of places of one rank that stand the wrong way round.
void check_order(const StepPlaces& places, int rank, int first, int second, FindingList& findings) {
  if (first == kNowhere || second == kNowhere || first < second) return;
  const Place early{rank, second}, late{rank, first};
  findings.add(fmt::format("{} stands before {}, which it needs", places.text().name(early),
                           places.text().name(late)),
               {early, late});
}

// The order within each (stage, micro-batch), of one kind.
void check_orders(const StepPlaces& places, OrderKind kind, FindingList& findings) {
  for (int s = 0; s < places.num_stages(); ++s) {
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const std::span<const int> at = places.places_of(s, m);
      for (const auto& [a, b] : places.order(s, kind)) {
        check_order(places, places.rank_of(s), at[a], at[b], findings);
      }
    }
  }
}

// Hand-overs without a message, of a stage to the one behind it on the same rank and back.
void check_local_hand_overs(const StepPlaces& places, int s, FindingList& findings) {
  const int rank = places.rank_of(s);
  if (s + 1 == places.num_stages() || places.rank_of(s + 1) != rank) return;
  const StageEvents& events = places.events(s);
  const StageEvents& behind = places.events(s + 1);
  for (int m = 0; m < places.num_micro_batches(); ++m) {
    const std::span<const int> at = places.places_of(s, m);
    const std::span<const int> at_behind = places.places_of(s + 1, m);
    for (const int first : behind.first_forwards()) {
      check_order(places, rank, at[events.last_forward()], at_behind[first], findings);
    }
    for (const int last : behind.last_backwards()) {
      check_order(places, rank, at_behind[last], at[events.first_backward()], findings);
    }
  }
}

// Reduced behind its last W, then gathered.
void check_reduction(const StepPlaces& places, int stage, int layer, const Reduction& at,
                     FindingList& findings) {
  const int rank = places.rank_of(stage);
  const Wire reduce{WireKind::ReduceGrad, Stage(stage), layer, MicroBatch(0)};
  const Wire gather{WireKind::GatherGrad, Stage(stage), layer, MicroBatch(0)};
  const auto require = [&](int place, const Step& step) {
    if (place == kNowhere) findings.add(fmt::format("rank {}: {} is missing", rank, print(step)));
  };
  require(at.reduce, StartWire{reduce});
  require(at.reduced, WaitWire{reduce});
  require(at.gather, StartWire{gather});
  require(at.gathered, WaitWire{gather});
  check_order(places, rank, at.reduce, at.reduced, findings);
  check_order(places, rank, at.reduced, at.gather, findings);
  check_order(places, rank, at.gather, at.gathered, findings);
  if (at.reduce == kNowhere || at.reduce > at.last_wgrad) return;
  const Place wgrad{rank, at.last_wgrad}, start{rank, at.reduce};
  findings.add(fmt::format("{} adds to a gradient after {}", places.text().name(wgrad),
                           places.text().name(start)),
               {wgrad, start});
}

void check_spans(const StepPlan& plan, FindingList& findings) {
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const RankSteps& steps = plan.ranks[rank];
    std::size_t next = 0;
    for (const StepSpan& span : steps.spans) {
      if (span.first != next || span.count > steps.steps.size() - next) break;
      next += span.count;
    }
    if (next == steps.steps.size()) continue;
    findings.add(
        fmt::format("rank {}: its spans do not part its {} steps", rank, steps.steps.size()));
  }
}

// Starts and waits of sends and receives alone, as lists to run against each other.
class HandOverLists {
 public:
  explicit HandOverLists(const StepPlaces& places) {
    for (const RankSteps& rank : places.plan().ranks) {
      std::vector<int>& row = rows_.emplace_back();
      for (std::size_t i = 0; i < rank.steps.size(); ++i) {
        const Wire* wire = wire_of(rank.steps[i]);
        if (wire == nullptr || std::holds_alternative<Release>(rank.steps[i])) continue;
        if (is_hand_over(wire->kind)) row.push_back(static_cast<int>(i));
      }
    }
  }

  WaitGraph graph() const {
    WaitGraph graph;
    for (const auto& row : rows_) graph.needs.emplace_back(row.size());
    return graph;
  }
  Place to_graph(int rank, int index) const {
    const auto& row = rows_[rank];
    const auto it = std::lower_bound(row.begin(), row.end(), index);
    return {rank, static_cast<int>(it - row.begin())};
  }
  Place to_plan(Place place) const { return {place.list, rows_[place.list][place.index]}; }

 private:
  std::vector<std::vector<int>> rows_;  // [rank] indices of steps
};

}  // namespace

std::vector<Finding> verify_once(const StepPlaces& places) {
  const PlanText& text = places.text();
  FindingList findings("verify_once", text);
  const std::size_t num_ranks = places.plan().layout.map.num_ranks;
  if (places.plan().ranks.size() != num_ranks) {
    findings.add(fmt::format("{} lists for {} ranks", places.plan().ranks.size(), num_ranks));
    return findings.take();
  }
  check_spans(places.plan(), findings);
  for (const StrayStep& stray : places.strays()) {
    const std::string name = text.name(stray.place);
    if (stray.seen == kNowhere) {
      findings.add(name + ": " + stray.why, {stray.place});
      continue;
    }
    const Place first{stray.place.list, stray.seen};
    findings.add(fmt::format("{}: done at {} already", name, text.name(first)),
                 {first, stray.place});
  }
  for (int s = 0; s < places.num_stages(); ++s) {
    const StageEvents& events = places.events(s);
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const std::span<const int> at = places.places_of(s, m);
      for (int e = 0; e < events.size(); ++e) {
        if (at[e] != kNowhere) continue;
        findings.add(fmt::format("rank {}: {} is missing", places.rank_of(s),
                                 print(events.step(e, MicroBatch(m)))));
      }
    }
  }
  return findings.take();
}

std::vector<Finding> verify_wgrads(const StepPlaces& places) {
  FindingList findings("verify_wgrads", places.text());
  check_orders(places, OrderKind::Wgrad, findings);
  return findings.take();
}

std::vector<Finding> verify_releases(const StepPlaces& places) {
  FindingList findings("verify_releases", places.text());
  check_orders(places, OrderKind::Release, findings);
  return findings.take();
}

std::vector<Finding> verify_data_flow(const StepPlaces& places) {
  FindingList findings("verify_data_flow", places.text());
  check_orders(places, OrderKind::DataFlow, findings);
  for (int s = 0; s < places.num_stages(); ++s) check_local_hand_overs(places, s, findings);
  return findings.take();
}

std::vector<Finding> verify_reductions(const StepPlaces& places) {
  FindingList findings("verify_reductions", places.text());
  bool any = false;
  for (int s = 0; s < places.num_stages(); ++s) {
    for (const auto& [layer, at] : places.reductions(s)) {
      any |= std::max({at.reduce, at.reduced, at.gather, at.gathered}) != kNowhere;
    }
  }
  for (int s = 0; any && s < places.num_stages(); ++s) {
    for (const auto& [layer, at] : places.reductions(s)) {
      check_reduction(places, s, layer, at, findings);
    }
  }
  return findings.take();
}

std::vector<Finding> verify_message_order(const StepPlaces& places) {
  const PlanText& text = places.text();
  FindingList findings("verify_message_order", text);
  for (const StepEdge& edge : places.edges()) {
    std::map<int, int> starts;  // of the send -> of the receive
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const HandOverPlaces& x = places.hand_over(edge, m);
      if (x.send_start == kNowhere || x.recv_start == kNowhere) continue;
      starts.emplace(x.send_start, x.recv_start);
    }
    for (auto it = starts.begin(); it != starts.end() && std::next(it) != starts.end(); ++it) {
      const auto next = std::next(it);
      if (it->second < next->second) continue;
      const Place first{edge.from_rank, it->first}, second{edge.from_rank, next->first};
      const Place taken_first{edge.to_rank, next->second}, taken_second{edge.to_rank, it->second};
      findings.add(fmt::format("crossed: {} comes before {}, but {} before {}", text.name(first),
                               text.name(second), text.name(taken_first), text.name(taken_second)),
                   {first, second, taken_first, taken_second});
    }
  }
  return findings.take();
}

// With no buffer between the ranks a message is through when both ends have started.
std::vector<Finding> verify_rendezvous(const StepPlaces& places) {
  FindingList findings("verify_rendezvous", places.text());
  const HandOverLists lists(places);
  WaitGraph graph = lists.graph();
  const auto need = [&](int rank, int index, int other_rank, int other_index) {
    if (index == kNowhere || other_index == kNowhere) return;
    graph.needs[rank][lists.to_graph(rank, index).index].push_back(
        lists.to_graph(other_rank, other_index));
  };
  for (const StepEdge& edge : places.edges()) {
    for (int m = 0; m < places.num_micro_batches(); ++m) {
      const HandOverPlaces& x = places.hand_over(edge, m);
      need(edge.to_rank, x.recv_wait, edge.from_rank, x.send_start);
      need(edge.from_rank, x.send_wait, edge.to_rank, x.recv_start);
    }
  }
  findings.add_deadlock("the ranks wait for each other for ever", graph,
                        [&](Place place) { return lists.to_plan(place); });
  return findings.take();
}

std::vector<Finding> verify_steps(const StepPlan& plan, bool forward_only) {
  using Verifier = std::vector<Finding> (*)(const StepPlaces&);
  static constexpr Verifier kVerifiers[] = {
      verify_once,       verify_wgrads,        verify_data_flow, verify_releases,
      verify_reductions, verify_message_order, verify_rendezvous};
  const StepPlaces places(plan, forward_only);
  std::vector<Finding> findings;
  for (const Verifier verify : kVerifiers) {
    std::ranges::move(verify(places), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace weft
