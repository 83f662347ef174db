// Random schedules of the compute level, and a simulator that is nothing but its rules, applied
// until no time changes.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "schedule/schedule.h"

namespace weft::testing {

using Random = std::mt19937;

inline int draw(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline std::vector<Action> halves(const Cell& cell) {
  if (const auto* pair = std::get_if<ActionPair>(&cell)) return {pair->forward, pair->backward};
  return {std::get<Action>(cell)};
}

// What a cell makes: a stage's output (F), its input's gradient (I, by B too), or W.
struct Product {
  char kind = 'F';
  int stage = 0;
  int micro_batch = 0;

  auto operator<=>(const Product&) const = default;
};

inline Product product_of(const Action& a) {
  const char kind = a.kind == ActionKind::Forward ? 'F' : a.kind == ActionKind::Wgrad ? 'W' : 'I';
  return {kind, a.stage.value, a.micro_batch.value};
}

// What has to be made before the action starts.
inline std::vector<Product> needs_of(const Action& a, int num_stages) {
  const int s = a.stage.value;
  const int m = a.micro_batch.value;
  if (a.kind == ActionKind::Forward) {
    return s == 0 ? std::vector<Product>{} : std::vector<Product>{{'F', s - 1, m}};
  }
  if (a.kind == ActionKind::Wgrad) return {{'I', s, m}};
  if (s == num_stages - 1) return {{'F', s, m}};
  return {{'F', s, m}, {'I', s + 1, m}};
}

inline double naive_cost(const Cell& cell, const Costs& costs) {
  double sum = 0;
  for (const Action& a : halves(cell)) {
    const auto own = costs.stages.find(a.stage.value);
    const StageCost& cost = own == costs.stages.end() ? costs.stage : own->second;
    if (a.kind == ActionKind::Forward) sum += cost.forward;
    if (a.kind == ActionKind::Backward || a.kind == ActionKind::Dgrad) sum += cost.dgrad;
    if (a.kind == ActionKind::Backward || a.kind == ActionKind::Wgrad) sum += cost.wgrad;
  }
  return std::holds_alternative<ActionPair>(cell) ? costs.pair.value_or(sum) : sum;
}

// When every cell ends, [rank][cell].
inline std::vector<std::vector<double>> naive_ends(const Schedule& schedule, const Costs& costs) {
  const int stages = schedule.map.num_stages();
  struct Made {
    std::size_t rank = 0;
    double time = 0;
  };
  std::vector<Made> made(std::size_t{3} * stages * schedule.num_micro_batches);
  const auto at = [&](const Product& p) -> Made& {
    const int kind = p.kind == 'F' ? 0 : p.kind == 'I' ? 1 : 2;
    return made[(kind * stages + p.stage) * schedule.num_micro_batches + p.micro_batch];
  };
  std::vector<std::vector<double>> ends;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    ends.emplace_back(schedule.ranks[r].size(), 0.0);
    for (const Cell& cell : schedule.ranks[r]) {
      for (const Action& a : halves(cell)) at(product_of(a)).rank = r;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < ends.size(); ++r) {
      for (std::size_t i = 0; i < ends[r].size(); ++i) {
        const Cell& cell = schedule.ranks[r][i];
        double start = i == 0 ? 0 : ends[r][i - 1];
        for (const Action& a : halves(cell)) {
          for (const Product& need : needs_of(a, stages)) {
            const Made& from = at(need);
            start = std::max(start, from.time + (from.rank == r ? 0 : costs.p2p));
          }
        }
        const double end = start + naive_cost(cell, costs);
        changed |= end != ends[r][i];
        ends[r][i] = end;
        for (const Action& a : halves(cell)) at(product_of(a)).time = end;
      }
    }
  }
  return ends;
}

inline double naive_makespan(const Schedule& schedule, const Costs& costs) {
  double makespan = 0;
  for (const auto& rank : naive_ends(schedule, costs)) {
    if (!rank.empty()) makespan = std::max(makespan, rank.back());
  }
  return makespan;
}

// Draws ready actions at random, so that the order in which they are drawn is a proof that the
// schedule can run; sometimes a ready forward and a ready backward of one rank make a pair.
inline Schedule random_schedule(Random& random) {
  Schedule schedule;
  schedule.map.placement = draw(random, 0, 1) == 0 ? Placement::Looped : Placement::V;
  schedule.map.num_ranks = draw(random, 1, 4);
  schedule.map.chunks_per_rank = schedule.map.placement == Placement::V ? 2 : draw(random, 1, 3);
  schedule.num_micro_batches = draw(random, 1, 6);
  schedule.ranks.resize(static_cast<std::size_t>(schedule.map.num_ranks));
  const int stages = schedule.map.num_stages();

  std::set<Product> made;
  std::vector<Action> left;
  for (int s = 0; s < stages; ++s) {
    for (int m = 0; m < schedule.num_micro_batches; ++m) {
      left.push_back({ActionKind::Forward, Stage(s), MicroBatch(m)});
      const bool split = draw(random, 0, 1) == 1;
      left.push_back({split ? ActionKind::Dgrad : ActionKind::Backward, Stage(s), MicroBatch(m)});
      if (split) left.push_back({ActionKind::Wgrad, Stage(s), MicroBatch(m)});
    }
  }
  const auto is_ready = [&](const Action& a) {
    const auto needs = needs_of(a, stages);
    return std::all_of(needs.begin(), needs.end(), [&](const auto& n) { return made.contains(n); });
  };
  const auto rank_of = [&](const Action& a) {
    return static_cast<std::size_t>(schedule.map.rank_of(a.stage).value);
  };
  const auto take = [&](const Action& a) {
    made.insert(product_of(a));
    left.erase(std::find(left.begin(), left.end(), a));
  };
  while (!left.empty()) {
    std::vector<Action> ready;
    std::copy_if(left.begin(), left.end(), std::back_inserter(ready), is_ready);
    const Action first =
        ready[static_cast<std::size_t>(draw(random, 0, static_cast<int>(ready.size()) - 1))];
    const auto second = std::find_if(ready.begin(), ready.end(), [&](const Action& a) {
      return a.kind == ActionKind::Backward && rank_of(a) == rank_of(first);
    });
    if (first.kind == ActionKind::Forward && second != ready.end()) {
      const Action backward = *second;
      schedule.ranks[rank_of(first)].push_back(ActionPair{first, backward});
      take(first);
      take(backward);
    } else {
      schedule.ranks[rank_of(first)].push_back(first);
      take(first);
    }
  }
  return schedule;
}

// Whole numbers, so that sums are exact whatever their order.
inline Costs random_costs(Random& random) {
  Costs costs;
  const auto number = [&](int high) { return static_cast<double>(draw(random, 0, high)); };
  costs.stage = {number(5), number(5), number(5)};
  costs.stages[0] = {7, 1, 3};
  costs.p2p = number(3);
  if (draw(random, 0, 1) == 0) costs.pair = draw(random, 1, 9);
  return costs;
}

}  // namespace weft::testing
