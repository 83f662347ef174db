#include "passes/weave.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "passes/chains.h"
#include "passes/plans.h"

namespace weft {
namespace {

using testing::layout_of;
using testing::round_costs;

// Stage 1 is woven: it receives from stage 0 and sends to stage 2, and its gradients likewise.
Layout layout_around(const std::string& stage, bool shared_expert = false) {
  return layout_of({3, 1, Placement::Looped}, {"E", stage, "L"}, shared_expert);
}

WeaveProblem pair_of(const Layout& forward, const Layout& backward, const Costs& costs) {
  WeaveProblem problem;
  add_forward(problem, forward, costs, {Stage(1), MicroBatch(4)});
  // Chains number their tasks and wires from where the problem stands.
  add_backward(problem, backward, costs, {Stage(1), MicroBatch(0)}, true);
  return problem;
}

std::string name(const WeaveProblem& problem, int task) {
  const WeaveTask& t = problem.tasks[task];
  if (t.run) return print(*t.run);
  return t.starts.empty() ? "wait" : "start(" + print(problem.wires[t.starts[0]].wire) + ")";
}

std::vector<std::string> names(const WeaveProblem& problem, const std::vector<int>& order) {
  std::vector<std::string> all;
  for (int task : order) all.push_back(name(problem, task));
  return all;
}

// An order's end and sum of send starts by plain replay, in integers.
struct Replay {
  const WeaveProblem& problem;
  int time = 0;
  int send_start = 0;
  int last_wire = 0;
  std::vector<int> lane_free = std::vector<int>(8, 0);
  std::vector<int> arrival = std::vector<int>(problem.wires.size(), -1);
  std::vector<bool> done = std::vector<bool>(problem.tasks.size(), false);

  bool can_run(std::size_t task) const {
    const WeaveTask& t = problem.tasks[task];
    if (done[task]) return false;
    for (int before : t.after) {
      if (!done[before]) return false;
    }
    for (int wire : t.waits) {
      if (!problem.wires[wire].posted && arrival[wire] < 0) return false;
    }
    return true;
  }

  void run(std::size_t task) {
    const WeaveTask& t = problem.tasks[task];
    for (int wire : t.waits) time = std::max(time, arrival[wire]);
    time += static_cast<int>(t.cost);
    for (int wire : t.starts) {
      const WeaveWire& w = problem.wires[wire];
      int& free = lane_free[static_cast<std::size_t>(w.lane)];
      free = std::max(free, time) + static_cast<int>(w.cost);
      arrival[wire] = free;
      last_wire = std::max(last_wire, free);
      if (w.kept) send_start += time;
    }
    done[task] = true;
  }

  std::pair<int, int> score() const { return {std::max(time, last_wire), send_start}; }
};

// The best score over all interleavings.
void try_all(const Replay& replay, std::size_t left, std::pair<int, int>& best) {
  if (left == 0) {
    best = std::min(best, replay.score());
    return;
  }
  if (replay.time > best.first) return;
  for (std::size_t task = 0; task < replay.problem.tasks.size(); ++task) {
    if (!replay.can_run(task)) continue;
    Replay next{replay.problem,   replay.time,    replay.send_start, replay.last_wire,
                replay.lane_free, replay.arrival, replay.done};
    next.run(task);
    try_all(next, left - 1, best);
  }
}

Costs random_costs(std::mt19937& random) {
  Costs costs = round_costs();
  for (auto& [key, cost] : costs.segments) {
    cost = {double(random() % 7), double(random() % 7), double(random() % 7)};
  }
  for (auto& [kind, cost] : costs.wires) cost = double(random() % 7);
  return costs;
}

Replay replay_of(const WeaveProblem& problem, const std::vector<int>& order) {
  Replay replay{problem};
  for (int task : order) {
    EXPECT_TRUE(replay.can_run(task)) << name(problem, task);
    replay.run(task);
  }
  return replay;
}

// The table of spec.md section 2: combine backward under attention, dispatch under experts I,
// dispatch backward under experts forward, combine under attention I; the backward's send and what
// is left of a late combine under experts W, the forward's send under attention W. With wires half
// as long again the end is 27, and no order that ends so early sends earlier.
TEST(Weave, HidesEveryWireOfAUniformLayerPair) {
  const Layout layout = layout_around("m");
  const WeaveProblem problem = pair_of(layout, layout, round_costs());
  const std::vector<int> order = weave(problem);
  const std::vector<std::string> expected = {
      "1I0:merge.0",   "1F4:attention.0", "start(1F4:dispatch.0)",
      "1I0:experts.0", "1F4:experts.0",   "1I0:attention.0",
      "1W0:experts.0", "1F4:merge.0",     "1W0:attention.0"};
  EXPECT_EQ(names(problem, order), expected);
  // Attention, experts and merge: 4 + 4 + 1 forward and input gradient, 4 + 4 weight gradients.
  EXPECT_EQ(weave_times(problem, order).end, 26);
}

// The second layer's dispatch backward and the first one's combine run under the experts' W and the
// next layers' segments: nothing is exposed in a longer chain either.
TEST(Weave, HidesEveryWireOfFourLayers) {
  const Layout layout = layout_around("mmmm");
  const WeaveProblem problem = pair_of(layout, layout, round_costs());
  EXPECT_EQ(weave_times(problem, weave(problem)).end, 4 * 26);
}

// More tasks than a word has bits, and fewer states kept than there are.
TEST(Weave, HidesEveryWireOfSixteenLayers) {
  const Layout layout = layout_around(std::string(16, 'm'));
  const WeaveProblem problem = pair_of(layout, layout, round_costs());
  EXPECT_GT(problem.tasks.size(), 128U);
  EXPECT_EQ(weave_times(problem, weave(problem)).end, 16 * 26);
}

TEST(Weave, ASingleForwardHidesDispatchUnderTheSharedExpert) {
  const Layout layout = layout_around("m", true);
  WeaveProblem problem;
  add_forward(problem, layout, round_costs(), {Stage(1), MicroBatch(2)});
  const std::vector<std::string> expected = {"1F2:attention.0", "start(1F2:dispatch.0)",
                                             "1F2:shared_expert.0", "1F2:experts.0", "1F2:merge.0"};
  EXPECT_EQ(names(problem, weave(problem)), expected);
}

TEST(Weave, ASingleBackwardHidesWhatItCan) {
  const Layout layout = layout_around("m", true);
  WeaveProblem problem;
  add_backward(problem, layout, round_costs(), {Stage(1), MicroBatch(2)}, true);
  // The shared expert's I and W under combine backward, the experts' W under dispatch backward, the
  // attention's under the send.
  const std::vector<std::string> expected = {
      "1I2:merge.0",   "1I2:shared_expert.0", "1W2:shared_expert.0", "1I2:experts.0",
      "1W2:experts.0", "1I2:attention.0",     "1W2:attention.0"};
  EXPECT_EQ(names(problem, weave(problem)), expected);
}

TEST(Weave, AsGoodAsTheBestOfAllInterleavings) {
  const std::vector<std::string> kinds = {"m", "d", "n", "dm"};
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const bool shared = random() % 4 == 0;
    const std::string forward = shared ? "m" : kinds[random() % kinds.size()];
    const std::string backward = shared ? "d" : kinds[random() % 3];
    const Costs costs = random_costs(random);
    const WeaveProblem problem =
        pair_of(layout_around(forward, shared), layout_around(backward, shared), costs);
    std::pair best{std::numeric_limits<int>::max(), 0};
    try_all(Replay{problem}, problem.tasks.size(), best);
    const std::vector<int> order = weave(problem);
    EXPECT_EQ(replay_of(problem, order).score().first, best.first);
    EXPECT_NEAR(weave_times(problem, order).end, best.first, 1e-6);
  }
}

// A chain of its own: the hand-over is early too.
TEST(Weave, AsGoodAsTheBestOrderOfASingleBackward) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const bool shared = random() % 2 == 0;
    const Layout layout = layout_around(random() % 2 == 0 ? "dm" : "m", shared);
    WeaveProblem problem;
    add_backward(problem, layout, random_costs(random), {Stage(1), MicroBatch(0)}, true);
    std::pair best{std::numeric_limits<int>::max(), 0};
    try_all(Replay{problem}, problem.tasks.size(), best);
    EXPECT_EQ(replay_of(problem, weave(problem)).score(), best);
  }
}

TEST(Weave, NeverWorseThanTheEagerOrder) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string forward, backward;
    for (unsigned i = random() % 5; i > 0; --i) forward += "dmn"[random() % 3];
    for (unsigned i = random() % 5; i > 0; --i) backward += "dmn"[random() % 3];
    const bool shared = random() % 2 == 0;
    const WeaveProblem problem = pair_of(layout_around(forward, shared),
                                         layout_around(backward, shared), random_costs(random));
    std::vector<int> listed(problem.tasks.size());
    std::iota(listed.begin(), listed.end(), 0);
    const std::vector<int> order = weave(problem);
    EXPECT_EQ(order.size(), listed.size());
    EXPECT_LE(replay_of(problem, order).score().first, replay_of(problem, listed).score().first);
  }
}

TEST(Weave, DependsOnShapeAndCostsAlone) {
  const Layout layout = layout_around("mm");
  const Layout shifted = layout_of({3, 1, Placement::Looped}, {"Edd", "mm", "L"});
  EXPECT_EQ(weave(pair_of(layout, layout, round_costs())),
            weave(pair_of(shifted, shifted, round_costs())));
}

}  // namespace
}  // namespace weft
