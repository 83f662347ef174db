#include "passes/weave_state.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"

namespace weft {
namespace {

// Integers make ties exact whatever the order of additions; a power of two keeps round costs exact.
double tick_unit(const WeaveProblem& problem) {
  double total = 0;
  for (const WeaveTask& task : problem.tasks) total += task.cost;
  for (const WeaveWire& wire : problem.wires) total += wire.cost;
  return total > 0 ? std::exp2(std::ceil(std::log2(total)) - 40) : 1;
}

// Tasks are listed in an order that can run, so what follows a task has a higher index.
void compute_tails(CompiledWeave& compiled) {
  std::vector<Ticks> behind_wire(compiled.wires.size(), 0);
  for (auto it = compiled.tasks.rbegin(); it != compiled.tasks.rend(); ++it) {
    CompiledWeave::Task& task = *it;
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
void find_twins(CompiledWeave& compiled) {
  std::unordered_map<Ticks, int> previous;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    CompiledWeave::Task& task = compiled.tasks[i];
    if (task.is_link() || !task.waits.empty()) continue;
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

// A 64-bit mix of an index (splitmix64).
std::uint64_t mixed(std::uint64_t value) {
  value = (value + 1) * 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void find_sets(CompiledWeave& compiled) {
  compiled.all = TaskSet(compiled.tasks.size());
  compiled.binding = compiled.all;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    CompiledWeave::Task& task = compiled.tasks[i];
    task.hash = mixed(i);
    compiled.all.insert(static_cast<int>(i));
    if (task.is_link() || !task.waits.empty()) compiled.binding.insert(static_cast<int>(i));
  }
}

}  // namespace

CompiledWeave compile(const WeaveProblem& problem, double doubt) {
  CompiledWeave compiled;
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
    CompiledWeave::Task out;
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
  find_sets(compiled);
  return compiled;
}

WeaveState first_state(const CompiledWeave& compiled) {
  WeaveState state;
  state.done = TaskSet(compiled.tasks.size());
  state.open = state.done;
  state.remaining = compiled.total;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    if (compiled.tasks[i].needs.empty()) state.open.insert(static_cast<int>(i));
  }
  update_bound(compiled, state);
  return state;
}

Ticks ready_time(const WeaveState& state, const CompiledWeave::Task& task) {
  Ticks ready = state.time;
  for (int wire : task.waits) {
    const auto it = std::find_if(state.in_flight.begin(), state.in_flight.end(),
                                 [&](const auto& entry) { return entry.first == wire; });
    ready = std::max(ready, it->second);
  }
  return ready;
}

void run_task(const CompiledWeave& compiled, WeaveState& state, int index) {
  const CompiledWeave::Task& task = compiled.tasks[index];
  state.time = ready_time(state, task);
  state.starts += state.time;
  state.time += task.cost;
  state.remaining -= task.cost;
  for (int wire : task.waits) {
    std::erase_if(state.in_flight, [&](const auto& entry) { return entry.first == wire; });
  }
  for (int wire : task.starts) {
    const CompiledWeave::CompiledWire& w = compiled.wires[wire];
    Ticks& free = state.lane_free[w.lane];
    free = std::max(free, state.time) + w.cost;
    state.last_wire = std::max(state.last_wire, free);
    if (w.kept) {
      state.send_start += state.time;
    } else {
      const std::pair entry(wire, free);
      state.in_flight.insert(std::ranges::lower_bound(state.in_flight, entry), entry);
    }
  }
  state.done.insert(index);
  state.hash ^= task.hash;
  state.open.erase(index);
  for (int next : task.feeds) {
    const auto& needs = compiled.tasks[next].needs;
    const bool ready = std::all_of(needs.begin(), needs.end(),
                                   [&](int need) { return state.done.contains(need); });
    if (ready) state.open.insert(next);
  }
}

void update_bound(const CompiledWeave& compiled, WeaveState& state) {
  state.bound = std::max(state.time + state.remaining, state.last_wire);
  state.chain_left = 0;
  state.open.for_each_in(compiled.binding, [&](int open) {
    const CompiledWeave::Task& task = compiled.tasks[open];
    state.bound = std::max(state.bound, ready_time(state, task) + task.tail);
    if (task.is_link()) state.chain_left += task.tail;
  });
}

}  // namespace weft
