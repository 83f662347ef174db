// A weave problem in integers, and a partial order of its tasks with the clock behind it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "passes/weave.h"
#include "timeline/timeline.h"

namespace weft {

using Ticks = std::int64_t;

// Tasks by index, a bit each.
class TaskSet {
 public:
  explicit TaskSet(std::size_t num_tasks = 0) : words_((num_tasks + 63) / 64) {}

  bool contains(int task) const { return (words_[word(task)] >> (task % 64) & 1) != 0; }
  void insert(int task) { words_[word(task)] |= std::uint64_t{1} << (task % 64); }
  void erase(int task) { words_[word(task)] &= ~(std::uint64_t{1} << (task % 64)); }
  bool operator==(const TaskSet&) const = default;

  // Calls `visit` with those that are in `other` too, ascending.
  template <class Visit>
  void for_each_in(const TaskSet& other, Visit visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t bits = words_[w] & other.words_[w]; bits != 0; bits &= bits - 1) {
        visit(static_cast<int>(64 * w) + std::countr_zero(bits));
      }
    }
  }

 private:
  static std::size_t word(int task) { return static_cast<std::size_t>(task) / 64; }

  std::vector<std::uint64_t> words_;
};

// A problem in integers, with what a search looks up.
struct CompiledWeave {
  struct Task {
    Ticks cost = 0;
    Ticks tail = 0;          // shortest time from its start to the end of all that follows from it
    std::vector<int> needs;  // tasks that run before, those that start its wires included
    std::vector<int> feeds;  // the tasks that need it
    std::vector<int> waits;  // wires, posted ones left out
    std::vector<int> starts;
    int twin = -1;  // an earlier task of equal cost that needs and gives nothing but a place
    std::uint64_t hash = 0;  // of a set of tasks: those of its members xored

    // Something follows from it: no mere weight gradient.
    bool is_link() const { return !feeds.empty() || !starts.empty(); }
  };
  struct CompiledWire {
    Ticks cost = 0;
    std::size_t lane = 0;
    bool kept = false;
  };
  std::vector<Task> tasks;
  std::vector<CompiledWire> wires;
  TaskSet all;
  TaskSet binding;  // links and tasks that wait: others bound nothing beyond the sum of compute
  Ticks total = 0;  // of compute
  double unit = 1;  // of one tick
};

// With `doubt` above zero wires last longer: by that share of their cost, since links are slower
// than thought, and of a mean task, by which the rank at the other end may lag.
CompiledWeave compile(const WeaveProblem& problem, double doubt = 0);

inline constexpr std::size_t kNumLanes = static_cast<std::size_t>(Lane::Swap) + 1;

// Copied many times by a search, so what is long is in few words.
struct WeaveState {
  Ticks time = 0;
  Ticks remaining = 0;   // compute not yet run
  Ticks bound = 0;       // no order that begins like this ends earlier
  Ticks chain_left = 0;  // sum of the open links' tails: less keeps more weight gradients for later
  Ticks last_wire = 0;   // end of the last wire so far
  Ticks send_start = 0;
  Ticks starts = 0;  // sum over tasks: less fills a gap sooner rather than later
  std::array<Ticks, kNumLanes> lane_free{};
  std::uint64_t hash = 0;  // of `done`
  TaskSet done;
  TaskSet open;  // tasks that may run next
  // Wires to wait for and when they are in, ascending.
  std::vector<std::pair<int, Ticks>> in_flight;
  int node = -1;  // its last task, in the trail of the search
};

WeaveState first_state(const CompiledWeave& compiled);

// When an open task can start.
Ticks ready_time(const WeaveState& state, const CompiledWeave::Task& task);

// Runs an open task; leaves `bound` and `chain_left`.
void run_task(const CompiledWeave& compiled, WeaveState& state, int index);

// Sets `bound` and `chain_left`.
void update_bound(const CompiledWeave& compiled, WeaveState& state);

}  // namespace weft
