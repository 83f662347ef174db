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

// Dispatch and CombineBackward send rows to the experts (Lane::Dispatch); Combine and
// DispatchBackward bring them back (Lane::Combine).
Lane lane_of(WireKind kind);
const char* name_of(Lane lane);  // "compute", "P2P forward"

// What an event is. On the Compute lane: a Cell (compute level) or RunForward / RunDgrad / RunWgrad
// are work; WaitWire is the compute lane waiting. On other lanes: StartWire is the wire under way.
using EventLabel = std::variant<Cell, Step>;

// Times in the timeline's unit, from the start of the step. A wire's `start` is the moment its last
// participant started it, `issued` the moment this rank did (at most `start`; wires only), its
// `end` the moment it completed here.
struct Event {
  Lane lane = Lane::Compute;
  EventLabel label;
  double start = 0;
  double end = 0;
  std::optional<double> issued;

  bool operator==(const Event&) const = default;
};

struct MemorySample {
  double time = 0;
  std::int64_t bytes = 0;

  bool operator==(const MemorySample&) const = default;
};

// True for a compute event, false for a wait or a wire.
bool is_work(const Event& event);
// What work is: "forward", "dgrad", "wgrad", "backward" or "pair".
const char* work_name(const Event& work);
// The wire that the event is, or waits for; null for work.
const Wire* wire_of(const Event& event);
// The text of the event's cell or step, as schedule/text.h prints it; of a wire or a wait the
// wire's.
std::string event_text(const Event& event);
// Orders events by start, waits and work before the wires that start with them.
void sort_events(std::vector<Event>& events);

struct RankTimeline {
  Rank rank;                         // pipeline rank in a simulation, global rank in a measurement
  Rank pp_rank;                      // pipeline rank
  double end = 0;                    // of the step on all ranks, at least the last event's end
  std::vector<Event> events;         // in order of start
  std::vector<MemorySample> memory;  // activation bytes over time, may be empty
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
