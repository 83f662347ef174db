#include "passes/weave.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/error.h"

namespace weft {
namespace {

constexpr std::size_t kNumLanes = static_cast<std::size_t>(Lane::Swap) + 1;
// States kept per number of tasks done: all of a layer pair's; of long chains what a few
// milliseconds allow.
constexpr std::size_t kMaxWidth = 1024;
constexpr std::size_t kMinWidth = 24;
constexpr std::size_t kWorkBudget = 24000;

using Ticks = std::int64_t;
using Done = std::vector<bool>;

// A problem in integers, with what the search looks up.
struct Compiled {
  struct Task {
    Ticks cost = 0;
    Ticks tail = 0;          // shortest time from its start to the end of all that follows from it
    std::vector<int> needs;  // tasks that run before, those that start its wires included
    std::vector<int> feeds;  // the tasks that need it
    std::vector<int> waits;  // wires, posted ones left out
    std::vector<int> starts;
    int twin = -1;  // an earlier task of equal cost that needs and gives nothing but a place
  };
  struct CompiledWire {
    Ticks cost = 0;
    std::size_t lane = 0;
    bool kept = false;
  };
  std::vector<Task> tasks;
  std::vector<CompiledWire> wires;
  Ticks total = 0;  // of compute
  double unit = 1;  // of one tick
};

// Integers make ties exact whatever the order of additions; a power of two keeps round costs exact.
double tick_unit(const WeaveProblem& problem) {
  double total = 0;
  for (const WeaveTask& task : problem.tasks) total += task.cost;
  for (const WeaveWire& wire : problem.wires) total += wire.cost;
  return total > 0 ? std::exp2(std::ceil(std::log2(total)) - 40) : 1;
}

// Tasks are listed in an order that can run, so what follows a task has a higher index.
void compute_tails(Compiled& compiled) {
  std::vector<Ticks> behind_wire(compiled.wires.size(), 0);
  for (auto it = compiled.tasks.rbegin(); it != compiled.tasks.rend(); ++it) {
    Compiled::Task& task = *it;
    Ticks behind = 0;
    for (int wire : task.starts) {
      behind = std::max(behind, compiled.wires[wire].cost + behind_wire[wire]);
    }
    for (int next : task.feeds) behind = std::max(behind, compiled.tasks[next].tail);
    task.tail = task.cost + behind;
    for (int wire : task.waits) behind_wire[wire] = task.tail;
  }
}

// Of weight gradients that became possible at the same time or earlier and cost the same, trying
// one is enough: the first listed.
void find_twins(Compiled& compiled) {
  std::unordered_map<Ticks, int> previous;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    Compiled::Task& task = compiled.tasks[i];
    if (!task.feeds.empty() || !task.starts.empty() || !task.waits.empty()) continue;
    const auto [it, added] = previous.emplace(task.cost, static_cast<int>(i));
    if (added) continue;
    task.twin = it->second;
    it->second = static_cast<int>(i);
  }
}

double mean_cost(const std::vector<WeaveTask>& tasks) {
  double total = 0;
  for (const WeaveTask& task : tasks) total += task.cost;
  return tasks.empty() ? 0 : total / static_cast<double>(tasks.size());
}

// With `doubt` above zero wires last longer: by that share of their cost, since links are slower
// than thought, and of a mean task, by which the rank at the other end may lag.
Compiled compile(const WeaveProblem& problem, double doubt = 0) {
  Compiled compiled;
  const double lag = doubt * mean_cost(problem.tasks);
  compiled.unit = tick_unit(problem);
  const auto ticks = [&](double cost) {
    return static_cast<Ticks>(std::llround(cost / compiled.unit));
  };
  for (const WeaveWire& wire : problem.wires) {
    compiled.wires.push_back(
        {ticks(wire.cost * (1 + doubt) + lag), static_cast<std::size_t>(wire.lane), wire.kept});
  }
  std::vector<int> starter(problem.wires.size(), -1);
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    for (int wire : problem.tasks[i].starts) starter[wire] = static_cast<int>(i);
  }
  for (const WeaveTask& task : problem.tasks) {
    Compiled::Task out;
    out.cost = ticks(task.cost);
    compiled.total += out.cost;
    out.needs = task.after;
    out.starts = task.starts;
    for (int wire : task.waits) {
      if (problem.wires[wire].posted) continue;
      weft_assert(starter[wire] >= 0, "a wire that is waited for is started or posted");
      out.waits.push_back(wire);
      out.needs.push_back(starter[wire]);
    }
    std::sort(out.needs.begin(), out.needs.end());
    out.needs.erase(std::unique(out.needs.begin(), out.needs.end()), out.needs.end());
    compiled.tasks.push_back(std::move(out));
  }
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    for (int need : compiled.tasks[i].needs) {
      weft_assert(need < static_cast<int>(i), "tasks are listed in an order that can run");
      compiled.tasks[need].feeds.push_back(static_cast<int>(i));
    }
  }
  compute_tails(compiled);
  find_twins(compiled);
  return compiled;
}

// A partial order and the clock behind it.
struct State {
  Done done;
  Ticks time = 0;
  Ticks remaining = 0;  // compute not yet run
  Ticks bound = 0;      // no order that begins like this ends earlier
  Ticks chain_left =
      0;                // sum of the open chains' tails: less keeps more weight gradients for later
  Ticks last_wire = 0;  // end of the last wire so far
  Ticks send_start = 0;
  Ticks starts = 0;  // sum over tasks: less fills a gap sooner rather than later
  std::array<Ticks, kNumLanes> lane_free{};
  std::vector<int> open;  // tasks that may run next, ascending
  std::vector<std::pair<int, Ticks>>
      in_flight;  // wires to wait for and when they are in, ascending
  int node = -1;  // its last task, see Trail
};

struct TrailNode {
  int parent;
  int task;
};
using Trail = std::vector<TrailNode>;

Ticks ready_time(const State& state, const Compiled::Task& task) {
  Ticks ready = state.time;
  for (int wire : task.waits) {
    const auto it = std::find_if(state.in_flight.begin(), state.in_flight.end(),
                                 [&](const auto& entry) { return entry.first == wire; });
    ready = std::max(ready, it->second);
  }
  return ready;
}

void update_bound(const Compiled& compiled, State& state) {
  state.bound = std::max(state.time + state.remaining, state.last_wire);
  state.chain_left = 0;
  for (int open : state.open) {
    const Compiled::Task& task = compiled.tasks[open];
    state.bound = std::max(state.bound, ready_time(state, task) + task.tail);
    if (!task.feeds.empty() || !task.starts.empty()) state.chain_left += task.tail;
  }
}

void run_task(const Compiled& compiled, State& state, int index) {
  const Compiled::Task& task = compiled.tasks[index];
  state.time = ready_time(state, task);
  state.starts += state.time;
  state.time += task.cost;
  state.remaining -= task.cost;
  for (int wire : task.waits) {
    std::erase_if(state.in_flight, [&](const auto& entry) { return entry.first == wire; });
  }
  for (int wire : task.starts) {
    const Compiled::CompiledWire& w = compiled.wires[wire];
    Ticks& free = state.lane_free[w.lane];
    free = std::max(free, state.time) + w.cost;
    state.last_wire = std::max(state.last_wire, free);
    if (w.kept) {
      state.send_start += state.time;
    } else {
      state.in_flight.emplace_back(wire, free);
    }
  }
  std::sort(state.in_flight.begin(), state.in_flight.end());
  state.done[index] = true;
  std::erase(state.open, index);
  for (int next : task.feeds) {
    const auto& needs = compiled.tasks[next].needs;
    const bool ready =
        std::all_of(needs.begin(), needs.end(), [&](int need) { return bool{state.done[need]}; });
    if (ready)
      state.open.insert(std::lower_bound(state.open.begin(), state.open.end(), next), next);
  }
}

State first_state(const Compiled& compiled) {
  State state;
  state.done.resize(compiled.tasks.size());
  state.remaining = compiled.total;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    if (compiled.tasks[i].needs.empty()) state.open.push_back(static_cast<int>(i));
  }
  update_bound(compiled, state);
  return state;
}

// Of two states with the same tasks done: `a` can do whatever `b` can, no later.
bool dominates(const State& a, const State& b) {
  if (a.time > b.time || a.last_wire > b.last_wire || a.send_start > b.send_start) return false;
  for (std::size_t lane = 0; lane < kNumLanes; ++lane) {
    // A lane that is free by now is free, however long it has been.
    if (std::max(a.lane_free[lane], a.time) > std::max(b.lane_free[lane], b.time)) return false;
  }
  for (std::size_t i = 0; i < a.in_flight.size(); ++i) {
    if (std::max(a.in_flight[i].second, a.time) > std::max(b.in_flight[i].second, b.time)) {
      return false;
    }
  }
  return true;
}

auto rank_of(const State& state) {
  return std::tuple(state.bound, state.chain_left, state.time, state.send_start, state.starts,
                    state.node);
}

// Keeps the best states that no other one makes pointless.
std::vector<State> prune(std::vector<State> states, std::size_t width) {
  std::sort(states.begin(), states.end(),
            [](const State& a, const State& b) { return rank_of(a) < rank_of(b); });
  std::unordered_map<Done, std::vector<std::size_t>> kept_by_done;
  std::vector<State> kept;
  for (State& state : states) {
    if (kept.size() == width) break;
    auto& rivals = kept_by_done[state.done];
    const bool pointless = std::any_of(rivals.begin(), rivals.end(), [&](std::size_t rival) {
      return dominates(kept[rival], state);
    });
    if (pointless) continue;
    rivals.push_back(kept.size());
    kept.push_back(std::move(state));
  }
  return kept;
}

std::vector<int> trace(const Trail& trail, int node) {
  std::vector<int> order;
  for (; node >= 0; node = trail[node].parent) order.push_back(trail[node].task);
  return {order.rbegin(), order.rend()};
}

// What an order is judged by: its end, then send_start, then starts.
using Score = std::array<Ticks, 3>;

Score score_of(const State& state) {
  return {std::max(state.time, state.last_wire), state.send_start, state.starts};
}

struct Result {
  std::vector<int> order;
  Score score{};
};

Result run_order(const Compiled& compiled, std::vector<int> order) {
  State state = first_state(compiled);
  for (int task : order) {
    weft_assert(std::binary_search(state.open.begin(), state.open.end(), task),
                "every task of an order may run in its turn");
    run_task(compiled, state, task);
  }
  return {std::move(order), score_of(state)};
}

// Beam search with the given width; `incumbent` cuts what cannot beat it.
Result search(const Compiled& compiled, Result incumbent, std::size_t width) {
  Trail trail;
  std::vector<State> beam{first_state(compiled)};
  for (std::size_t depth = 0; depth < compiled.tasks.size(); ++depth) {
    std::vector<State> next;
    for (const State& state : beam) {
      for (int task : state.open) {
        const int twin = compiled.tasks[task].twin;
        if (twin >= 0 && std::binary_search(state.open.begin(), state.open.end(), twin)) continue;
        State child = state;
        run_task(compiled, child, task);
        update_bound(compiled, child);
        if (child.bound > incumbent.score[0]) continue;
        trail.push_back({state.node, task});
        child.node = static_cast<int>(trail.size()) - 1;
        next.push_back(std::move(child));
      }
    }
    beam = prune(std::move(next), width);
    if (beam.empty()) return incumbent;
  }
  for (const State& state : beam) {
    const Score score = score_of(state);
    if (score < incumbent.score) incumbent = {trace(trail, state.node), score};
  }
  return incumbent;
}

// Costs are known roughly: of the orders that end equally early under them, a pair takes the one
// that still hides its wires under the greatest doubt. A single chain is mostly waited for by the
// next rank, so it takes the one that sends early.
constexpr std::array kDoubts{1.0, 0.5, 0.2};

bool has_both_directions(const WeaveProblem& problem) {
  const auto has = [&](auto is_kind) {
    return std::any_of(problem.tasks.begin(), problem.tasks.end(),
                       [&](const WeaveTask& task) { return task.run && is_kind(*task.run); });
  };
  return has([](const Step& step) { return std::holds_alternative<RunForward>(step); }) &&
         has([](const Step& step) { return std::holds_alternative<RunDgrad>(step); });
}

bool has_several_micro_batches(const WeaveProblem& problem) {
  std::set<MicroBatch> seen;
  for (const WeaveTask& task : problem.tasks) {
    if (!task.run) continue;
    if (const auto* forward = std::get_if<RunForward>(&*task.run)) {
      seen.insert(forward->segment.micro_batch);
    } else if (const auto* dgrad = std::get_if<RunDgrad>(&*task.run)) {
      seen.insert(dgrad->segment.micro_batch);
    } else if (const auto* wgrad = std::get_if<RunWgrad>(&*task.run)) {
      seen.insert(wgrad->segment.micro_batch);
    }
  }
  return seen.size() > 1;
}

bool is_chain_task(const Compiled::Task& task) {
  return !task.feeds.empty() || !task.starts.empty();
}

// The task to run next where the chain listed first goes ahead: another one only while it waits
// for a wire, and only if that delays it by no more than `overrun` of the other's cost.
int next_in_turn(const Compiled& compiled, const State& state, double overrun) {
  const auto chain = [&](int task) { return is_chain_task(compiled.tasks[task]); };
  const auto first = std::find_if(state.open.begin(), state.open.end(), chain);
  if (first == state.open.end()) return state.open.front();
  const Ticks ready = ready_time(state, compiled.tasks[*first]);
  for (const bool chains : {true, false}) {
    for (int open : state.open) {
      const Compiled::Task& task = compiled.tasks[open];
      if (open == *first || chain(open) != chains) continue;
      const Ticks end = ready_time(state, task) + task.cost;
      const auto allowed = static_cast<Ticks>(overrun * static_cast<double>(task.cost));
      if (ready > state.time && end <= ready + allowed) return open;
    }
  }
  return *first;
}

Result run_in_turn(const Compiled& compiled, double overrun) {
  State state = first_state(compiled);
  std::vector<int> order;
  while (!state.open.empty()) {
    order.push_back(next_in_turn(compiled, state, overrun));
    run_task(compiled, state, order.back());
  }
  return {std::move(order), score_of(state)};
}

// Chains of one direction: the ranks that they go to wait for them, so of the orders in which they
// run in turn the one that hands over earliest, in sum; then the one that ends first.
Result first_to_hand_over(const Compiled& compiled, Result best) {
  const auto rank = [](const Result& r) { return std::tuple(r.score[1], r.score[0], r.score[2]); };
  for (double overrun : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    Result result = run_in_turn(compiled, overrun);
    if (rank(result) < rank(best)) best = std::move(result);
  }
  return best;
}

Result best_order(const Compiled& compiled) {
  std::vector<int> listed(compiled.tasks.size());
  std::iota(listed.begin(), listed.end(), 0);
  const std::size_t width =
      std::clamp(kWorkBudget / std::max<std::size_t>(1, listed.size()), kMinWidth, kMaxWidth);
  Result best = run_order(compiled, std::move(listed));
  best = search(compiled, std::move(best), 1);
  return search(compiled, std::move(best), width);
}

}  // namespace

WeaveTimes weave_times(const WeaveProblem& problem, const std::vector<int>& order) {
  const Compiled compiled = compile(problem);
  weft_assert(order.size() == problem.tasks.size(), "an order names every task");
  const Result result = run_order(compiled, order);
  return {static_cast<double>(result.score[0]) * compiled.unit,
          static_cast<double>(result.score[1]) * compiled.unit};
}

std::vector<int> weave(const WeaveProblem& problem) {
  const Compiled compiled = compile(problem);
  const Result best = best_order(compiled);
  if (!has_both_directions(problem)) {
    return has_several_micro_batches(problem) ? first_to_hand_over(compiled, best).order
                                              : best.order;
  }
  for (double doubt : kDoubts) {
    const Result wary = run_order(compiled, best_order(compile(problem, doubt)).order);
    if (wary.score[0] == best.score[0]) return wary.order;
  }
  return best.order;
}

}  // namespace weft
