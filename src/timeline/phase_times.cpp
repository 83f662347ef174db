#include "timeline/phase_times.h"

#include <algorithm>
#include <numeric>

#include "timeline/metrics.h"

namespace weft {
namespace {

bool is_backward(const Event& event) {
  if (const Cell* cell = std::get_if<Cell>(&event.label)) {
    const auto* action = std::get_if<Action>(cell);
    return action == nullptr || action->kind != ActionKind::Forward;
  }
  return !std::holds_alternative<RunForward>(std::get<Step>(event.label));
}

// Ends of the phases.
std::array<double, kNumPhases> ends_of(const RankTimeline& rank) {
  if (rank.steady_start && rank.steady_end) {
    const double start = std::clamp(*rank.steady_start, 0.0, std::max(rank.end, 0.0));
    return {start, std::clamp(*rank.steady_end, start, std::max(rank.end, start)), rank.end};
  }
  double first = rank.end;
  for (const Event& event : rank.events) {
    if (is_work(event) && is_backward(event)) first = std::min(first, event.start);
  }
  return {first, first, rank.end};
}

class Clock {
 public:
  explicit Clock(const RankTimeline& rank) : ends_(ends_of(rank)) {
    double start = 0;
    for (std::size_t p = 0; p < kNumPhases; ++p) {
      at(p, TimePart::Bubble) = std::max(0.0, ends_[p] - start);
      start = std::max(start, ends_[p]);
    }
  }

  // Takes [start, end) from the bubble, cut at the phases' ends.
  void spend(TimePart part, double start, double end) {
    for (std::size_t p = 0; p < kNumPhases; ++p) {
      const double from = p == 0 ? start : std::max(start, ends_[p - 1]);
      const double to = p + 1 == kNumPhases ? end : std::min(end, ends_[p]);
      if (to <= from) continue;
      at(p, part) += to - from;
      at(p, TimePart::Bubble) -= to - from;
    }
  }

  PhaseTimes& phase_of(double time) {
    const std::size_t p = time < ends_[0] ? 0 : time < ends_[1] ? 1 : 2;
    return times_[p];
  }

  // Sums of differences leave a rounding error where there is no bubble.
  TimesByPhase times() const {
    TimesByPhase times = times_;
    for (PhaseTimes& phase : times) {
      double& bubble = phase.parts[static_cast<std::size_t>(TimePart::Bubble)];
      bubble = bubble < 1e-9 * ends_.back() ? 0 : bubble;
    }
    return times;
  }

 private:
  double& at(std::size_t phase, TimePart part) {
    return times_[phase].parts[static_cast<std::size_t>(part)];
  }

  std::array<double, kNumPhases> ends_;
  TimesByPhase times_{};
};

TimePart exposed_as(WireKind kind) {
  if (is_all_to_all(kind)) return TimePart::AllToAllExposed;
  if (kind == WireKind::Counts) return TimePart::CountsExposed;
  if (is_gradient_wire(kind)) return TimePart::ReduceExposed;
  return TimePart::P2pExposed;
}

}  // namespace

const char* name_of(Phase phase) {
  static constexpr std::array<const char*, kNumPhases> kNames = {"warm-up", "steady", "cool-down"};
  return kNames.at(static_cast<std::size_t>(phase));
}

double PhaseTimes::length() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& other) {
  for (std::size_t i = 0; i < kNumTimeParts; ++i) parts[i] += other.parts[i];
  all_to_all += other.all_to_all;
  all_to_all_waited += other.all_to_all_waited;
  return *this;
}

PhaseTimes& PhaseTimes::operator/=(double divisor) {
  for (double& part : parts) part /= divisor;
  all_to_all /= divisor;
  all_to_all_waited /= divisor;
  return *this;
}

TimesByPhase phase_times(const RankTimeline& rank) {
  Clock clock(rank);
  const std::vector<const Event*> waited = waited_wires(rank);
  for (std::size_t i = 0; i < rank.events.size(); ++i) {
    const Event& event = rank.events[i];
    const Wire* wire = wire_of(event);
    if (is_work(event)) {
      clock.spend(TimePart::Busy, event.start, event.end);
    } else if (waited[i] != nullptr) {
      const auto [start, end] = exposed_part(event, *waited[i]);
      clock.spend(exposed_as(wire->kind), start, end);
      if (is_all_to_all(wire->kind)) {
        clock.phase_of(waited[i]->issued.value_or(waited[i]->start)).all_to_all_waited +=
            end - start;
      }
    } else if (event.lane != Lane::Compute && wire != nullptr && is_all_to_all(wire->kind)) {
      clock.phase_of(event.issued.value_or(event.start)).all_to_all += event.end - event.start;
    }
  }
  return clock.times();
}

}  // namespace weft
