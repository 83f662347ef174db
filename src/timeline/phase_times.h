// Where a rank's time goes, phase by phase.
#pragma once

#include <array>
#include <cstddef>

#include "timeline/timeline.h"

namespace weft {

// Warm-up ends where the steady phase starts; without one where the first backward starts.
enum class Phase { WarmUp, Steady, CoolDown };
inline constexpr std::size_t kNumPhases = 3;
const char* name_of(Phase phase);  // "warm-up"

// What a moment is spent on; at every moment a rank's step is in exactly one of these.
enum class TimePart {
  Busy,
  Bubble,
  AllToAllExposed,
  P2pExposed,
  CountsExposed,
  ReduceExposed,
};
inline constexpr std::size_t kNumTimeParts = 6;

// Times of one phase, in the timeline's unit; they add up.
struct PhaseTimes {
  std::array<double, kNumTimeParts> parts{};  // by TimePart, cut at the phase's ends
  double all_to_all = 0;                      // durations of wires that were started in the phase
  double all_to_all_waited = 0;               // their exposed part, whenever it was

  double operator[](TimePart part) const { return parts[static_cast<std::size_t>(part)]; }
  double length() const;
  PhaseTimes& operator+=(const PhaseTimes& other);
  PhaseTimes& operator/=(double divisor);
};

using TimesByPhase = std::array<PhaseTimes, kNumPhases>;

// Busy, bubble and exposed as cli.md defines them; the phases together last `rank.end`.
TimesByPhase phase_times(const RankTimeline& rank);

}  // namespace weft
