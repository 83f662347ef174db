// Merges independent chains of segments and a pool of weight gradients into one order.
#pragma once

#include <optional>
#include <vector>

#include "schedule/step.h"
#include "timeline/timeline.h"

namespace weft {

// A wire between two tasks, or one that leaves (sends) or enters (receives) the problem.
struct WeaveWire {
  Wire wire;
  double cost = 0;  // from its start, if its lane is free
  Lane lane = Lane::Dispatch;
  bool posted = false;  // started before the problem: a receive; taken to be in
  bool kept = false;    // not waited for inside the problem: a send
};

// What the compute lane runs in one piece: a segment, or only the start of a wire that has to wait
// for another one first (dispatch behind the counts; `run` is empty then and `cost` 0).
struct WeaveTask {
  std::optional<Step> run;
  double cost = 0;
  std::vector<int> after;   // tasks, by index
  std::vector<int> waits;   // wires waited for right before it
  std::vector<int> starts;  // wires started right after it
};

// Listed in the order of an engine that overlaps nothing: forward before backward, a weight
// gradient right after its input gradient. That order has to be a valid one.
struct WeaveProblem {
  std::vector<WeaveTask> tasks;
  std::vector<WeaveWire> wires;
};

// When everything is done under the costs, tasks run in `order` (indices of all tasks): compute is
// one lane, each wire lane serves in order of start.
struct WeaveTimes {
  double end = 0;         // of the last task or wire
  double send_start = 0;  // sum over kept wires: an earlier hand-over shortens the next rank's wait
};
WeaveTimes weave_times(const WeaveProblem& problem, const std::vector<int>& order);

// The order with the least end, found by a beam search under a lower bound: exact where few states
// are possible (a layer pair), never later than the listed order. Of equally early ones a pair
// takes one that would hide longer wires too, a single chain the one with the least send_start.
// Several chains of one direction take the order with the least send_start of those in which the
// first listed goes ahead and the others fill its waits, and of the one that ends first.
// Further ties fall to what starts early, then to the lower index. Costs are compared as integers,
// and costs and shape alone decide, not stages, layers and micro-batches: equal problems give equal
// orders on every rank.
std::vector<int> weave(const WeaveProblem& problem);

}  // namespace weft
