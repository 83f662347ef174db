#include "passes/weave.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "passes/weave_state.h"

namespace weft {
namespace {

// States kept per number of tasks done: all of a layer pair's; of long chains what a few
// milliseconds allow.
constexpr std::size_t kMaxWidth = 1024;
constexpr std::size_t kMinWidth = 24;
constexpr std::size_t kWorkBudget = 24000;

struct TrailNode {
  int parent;
  int task;
};
using Trail = std::vector<TrailNode>;

std::vector<int> trace(const Trail& trail, int node) {
  std::vector<int> order;
  for (; node >= 0; node = trail[node].parent) order.push_back(trail[node].task);
  return {order.rbegin(), order.rend()};
}

// What an order is judged by: its end, then send_start, then starts.
using Score = std::array<Ticks, 3>;

Score score_of(const WeaveState& state) {
  return {std::max(state.time, state.last_wire), state.send_start, state.starts};
}

struct Result {
  std::vector<int> order;
  Score score{};
};

Result run_order(const CompiledWeave& compiled, std::vector<int> order) {
  WeaveState state = first_state(compiled);
  for (int task : order) {
    weft_assert(state.open.contains(task), "every task of an order may run in its turn");
    run_task(compiled, state, task);
  }
  return {std::move(order), score_of(state)};
}

// Of two states with the same tasks done: `a` can do whatever `b` can, no later.
bool dominates(const WeaveState& a, const WeaveState& b) {
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

// Beam search: of the states with equally many tasks done the best ones go on.
class Beam {
 public:
  Beam(const CompiledWeave& compiled, std::size_t width)
      : compiled_(compiled), width_(width), buckets_(std::bit_ceil(4 * width)) {}

  // The best order found, or `incumbent`, which cuts what cannot beat it.
  Result search(Result incumbent) {
    states_.assign(1, first_state(compiled_));
    num_states_ = 1;
    for (std::size_t depth = 0; depth < compiled_.tasks.size(); ++depth) {
      expand(incumbent.score[0]);
      keep_best();
      if (num_states_ == 0) return incumbent;
    }
    for (std::size_t i = 0; i < num_states_; ++i) {
      const Score score = score_of(states_[i]);
      if (score < incumbent.score) incumbent = {trace(trail_, states_[i].node), score};
    }
    return incumbent;
  }

 private:
  struct Child {
    WeaveState state;
    int next = -1;  // in its bucket
    bool pointless = false;
  };

  static auto rank_of(const WeaveState& state) {
    return std::tuple(state.bound, state.chain_left, state.time, state.send_start, state.starts,
                      state.node);
  }

  void expand(Ticks latest_end) {
    num_children_ = 0;
    std::ranges::fill(buckets_, -1);
    for (std::size_t parent = 0; parent < num_states_; ++parent) {
      const WeaveState& state = states_[parent];
      state.open.for_each_in(compiled_.all, [&](int task) {
        const int twin = compiled_.tasks[task].twin;
        if (twin >= 0 && state.open.contains(twin)) return;
        if (num_children_ == children_.size()) children_.emplace_back();
        Child& child = children_[num_children_];
        child.state = state;
        run_task(compiled_, child.state, task);
        update_bound(compiled_, child.state);
        child.state.node = static_cast<int>(trail_.size());
        if (child.state.bound > latest_end || !has_a_point(child)) return;
        trail_.push_back({state.node, task});
        ++num_children_;
      });
    }
  }

  // Puts a child beside the others with the same tasks done, unless one of them is ahead of it and
  // dominates it; what is behind it and dominated is pointless from now on.
  bool has_a_point(Child& child) {
    const WeaveState& state = child.state;
    int& bucket = buckets_[state.hash & (buckets_.size() - 1)];
    for (int i = bucket; i >= 0; i = children_[i].next) {
      Child& other = children_[i];
      if (other.pointless || other.state.hash != state.hash || other.state.done != state.done) {
        continue;
      }
      if (rank_of(other.state) < rank_of(state)) {
        if (dominates(other.state, state)) return false;
      } else if (dominates(state, other.state)) {
        other.pointless = true;
      }
    }
    child.pointless = false;
    child.next = std::exchange(bucket, static_cast<int>(num_children_));
    return true;
  }

  void keep_best() {
    best_.clear();
    for (std::size_t i = 0; i < num_children_; ++i) {
      if (!children_[i].pointless) best_.push_back(i);
    }
    const auto before = [this](std::size_t a, std::size_t b) {
      return rank_of(children_[a].state) < rank_of(children_[b].state);
    };
    if (best_.size() > width_) {
      std::nth_element(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(width_),
                       best_.end(), before);
      best_.resize(width_);
    }
    std::ranges::sort(best_, before);
    num_states_ = best_.size();
    if (states_.size() < num_states_) states_.resize(num_states_);
    for (std::size_t i = 0; i < num_states_; ++i) std::swap(states_[i], children_[best_[i]].state);
  }

  const CompiledWeave& compiled_;
  const std::size_t width_;
  Trail trail_;
  // Neither shrinks, so that the storage of states is used again.
  std::vector<WeaveState> states_;
  std::vector<Child> children_;
  std::size_t num_states_ = 0;
  std::size_t num_children_ = 0;
  std::vector<int> buckets_;       // by hash: the last child
  std::vector<std::size_t> best_;  // children that go on
};

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

// The task to run next where the chain listed first goes ahead: another one only while it waits
// for a wire, and only if that delays it by no more than `overrun` of the other's cost.
int next_in_turn(const CompiledWeave& compiled, const WeaveState& state, double overrun) {
  std::vector<int> links, others;
  state.open.for_each_in(compiled.all, [&](int task) {
    (compiled.tasks[task].is_link() ? links : others).push_back(task);
  });
  if (links.empty()) return others.front();
  const int first = links.front();
  const Ticks ready = ready_time(state, compiled.tasks[first]);
  links.erase(links.begin());
  for (const auto& fillers : {links, others}) {
    for (int filler : fillers) {
      const CompiledWeave::Task& task = compiled.tasks[filler];
      const Ticks end = ready_time(state, task) + task.cost;
      const auto allowed = static_cast<Ticks>(overrun * static_cast<double>(task.cost));
      if (ready > state.time && end <= ready + allowed) return filler;
    }
  }
  return first;
}

Result run_in_turn(const CompiledWeave& compiled, double overrun) {
  WeaveState state = first_state(compiled);
  std::vector<int> order;
  while (order.size() < compiled.tasks.size()) {
    order.push_back(next_in_turn(compiled, state, overrun));
    run_task(compiled, state, order.back());
  }
  return {std::move(order), score_of(state)};
}

// Chains of one direction: the ranks that they go to wait for them, so of the orders in which they
// run in turn the one that hands over earliest, in sum; then the one that ends first.
Result first_to_hand_over(const CompiledWeave& compiled, Result best) {
  const auto rank = [](const Result& r) { return std::tuple(r.score[1], r.score[0], r.score[2]); };
  for (double overrun : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    Result result = run_in_turn(compiled, overrun);
    if (rank(result) < rank(best)) best = std::move(result);
  }
  return best;
}

Result best_order(const CompiledWeave& compiled) {
  std::vector<int> listed(compiled.tasks.size());
  std::iota(listed.begin(), listed.end(), 0);
  const std::size_t width =
      std::clamp(kWorkBudget / std::max<std::size_t>(1, listed.size()), kMinWidth, kMaxWidth);
  Result best = run_order(compiled, std::move(listed));
  best = Beam(compiled, 1).search(std::move(best));
  return Beam(compiled, width).search(std::move(best));
}

}  // namespace

WeaveTimes weave_times(const WeaveProblem& problem, const std::vector<int>& order) {
  const CompiledWeave compiled = compile(problem);
  weft_assert(order.size() == problem.tasks.size(), "an order names every task");
  const Result result = run_order(compiled, order);
  return {static_cast<double>(result.score[0]) * compiled.unit,
          static_cast<double>(result.score[1]) * compiled.unit};
}

std::vector<int> weave(const WeaveProblem& problem) {
  const CompiledWeave compiled = compile(problem);
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
