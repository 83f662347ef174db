// Numbers read off a timeline, defined in cli.md under "What the times mean".
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace weft {

struct RankMetrics {
  double busy = 0;                   // compute events
  double idle = 0;                   // end - busy = bubble + exposed_communication
  double bubble = 0;                 // idle for any reason but data under way
  double exposed_communication = 0;  // waiting for a wire that all participants have started
  double all_to_all = 0;             // durations of dispatch, combine and their backwards
  double all_to_all_exposed = 0;
  double all_to_all_steady = 0;          // durations of those started in the steady phase
  double all_to_all_exposed_steady = 0;  // exposed part of those started in the steady phase
  double counts_exposed = 0;
  double p2p_exposed = 0;
  double reduce_exposed = 0;
};

struct TimelineMetrics {
  double makespan = 0;
  std::vector<RankMetrics> ranks;  // as the timeline's ranks
  // 1 - (sum of exposed) / (sum of durations) over all ranks; empty if there was no all-to-all.
  std::optional<double> all_to_all_hidden_steady;
  std::optional<double> all_to_all_hidden_outside;
};

// The largest of each number over the ranks.
RankMetrics largest_over_ranks(const TimelineMetrics& metrics);

// A wire belongs to the steady phase if this rank started it there. A wait counts against the event
// of the same wire on its rank (the n-th wait of a wire against its n-th event).
TimelineMetrics measure(const Timeline& timeline);

// For each event of the rank the event of the wire that it waits for; null for work, wires, and
// waits for a wire without an event. Points into `rank`.
std::vector<const Event*> waited_wires(const RankTimeline& rank);

// The part of a wait in which its wire was under way: start and end, equal if there is none. What
// lies before it is bubble (a participant had not started the wire), what lies after it too.
std::pair<double, double> exposed_part(const Event& wait, const Event& wire);

// Sets steady_start and steady_end of a rank from its compute events, where `spans` says which
// steps came from a pair (steps level) or the labels are cells (compute level, spans empty).
void mark_steady(RankTimeline& rank, const std::vector<StepSpan>& spans,
                 const std::vector<Step>& steps);

}  // namespace weft
