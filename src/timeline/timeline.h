// What happened, or would happen, when: events per rank and lane. The simulator and the runtime
// return the same type, so that prediction and measurement can be laid side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "schedule/action.h"
#include "schedule/step.h"

namespace weft {

// One track of a rank. Compute carries compute events and waits; every other lane carries wires.
enum class Lane { Compute, Counts, Dispatch, Combine, P2pForward, P2pBackward, ReduceGrad, Swap };

// Dispatch carries dispatch and combine backward's mirror by direction: CombineBackward and Dispatch
// send tokens to experts (Lane::Dispatch), Combine and DispatchBackward bring them back
// (Lane::Combine).
Lane lane_of(WireKind kind);

// What an event is. On the Compute lane: a Cell (compute level) or RunForward / RunDgrad / RunWgrad
// are work; WaitWire is the compute lane waiting. On other lanes: StartWire is the wire under way.
using EventLabel = std::variant<Cell, Step>;

// Times in the timeline's unit, from the start of the step. A wire's `start` is the moment its last
// participant started it, its `end` the moment it completed here.
struct Event {
  Lane lane = Lane::Compute;
  EventLabel label;
  double start = 0;
  double end = 0;

  bool operator==(const Event&) const = default;
};

struct MemorySample {
  double time = 0;
  std::int64_t bytes = 0;

  bool operator==(const MemorySample&) const = default;
};

struct RankTimeline {
  Rank rank;       // pipeline rank in a simulation, global rank in a measurement
  Rank pp_rank;    // pipeline rank
  double end = 0;  // of the step, at least the last event's end
  std::vector<Event> events;           // in order of start
  std::vector<MemorySample> memory;    // activation bytes over time, may be empty
  // First start to last end of woven pairs; without pairs from the first backward's start to the
  // last forward's end. Empty if there is neither.
  std::optional<double> steady_start;
  std::optional<double> steady_end;

  bool operator==(const RankTimeline&) const = default;
};

struct Timeline {
  std::string unit;  // "units" or "ms"
  std::vector<RankTimeline> ranks;

  bool operator==(const Timeline&) const = default;
};

}  // namespace weft
