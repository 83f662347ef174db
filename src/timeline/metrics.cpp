#include "timeline/metrics.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft {
namespace {

// Half-open, so that a wire started at the very end of the last pair is outside.
bool is_steady(const RankTimeline& rank, double time) {
  return rank.steady_start && rank.steady_end && time >= *rank.steady_start &&
         time < *rank.steady_end;
}

// The events of each wire in order: its n-th wait is for its n-th exchange.
std::map<Wire, std::vector<const Event*>> wires_of(const RankTimeline& rank) {
  std::map<Wire, std::vector<const Event*>> wires;
  for (const Event& event : rank.events) {
    if (event.lane == Lane::Compute) continue;
    if (const Wire* wire = wire_of(event)) wires[*wire].push_back(&event);
  }
  return wires;
}

void add_exposed(RankMetrics& metrics, WireKind kind, bool steady, double exposed) {
  metrics.exposed_communication += exposed;
  if (is_all_to_all(kind)) {
    metrics.all_to_all_exposed += exposed;
    if (steady) metrics.all_to_all_exposed_steady += exposed;
  } else if (kind == WireKind::Counts) {
    metrics.counts_exposed += exposed;
  } else if (kind == WireKind::ReduceGrad) {
    metrics.reduce_exposed += exposed;
  } else {
    metrics.p2p_exposed += exposed;
  }
}

RankMetrics measure_rank(const RankTimeline& rank) {
  RankMetrics metrics;
  const auto wires = wires_of(rank);
  for (const auto& [wire, events] : wires) {
    if (!is_all_to_all(wire.kind)) continue;
    for (const Event* event : events) {
      const double duration = event->end - event->start;
      metrics.all_to_all += duration;
      if (is_steady(rank, event->issued.value_or(event->start))) {
        metrics.all_to_all_steady += duration;
      }
    }
  }
  std::map<Wire, std::size_t> waited;
  for (const Event& event : rank.events) {
    if (is_work(event)) metrics.busy += event.end - event.start;
    if (event.lane != Lane::Compute || is_work(event)) continue;
    const Wire& wire = *wire_of(event);
    const auto found = wires.find(wire);
    if (found == wires.end()) continue;
    const std::size_t nth = std::min(waited[wire]++, found->second.size() - 1);
    const Event& exchange = *found->second[nth];
    const double exposed =
        std::min(event.end, exchange.end) - std::max(event.start, exchange.start);
    if (exposed <= 0) continue;
    add_exposed(metrics, wire.kind, is_steady(rank, exchange.issued.value_or(exchange.start)),
                exposed);
  }
  metrics.idle = rank.end - metrics.busy;
  metrics.bubble = std::max(0.0, metrics.idle - metrics.exposed_communication);
  return metrics;
}

// Empty if `duration` is nothing but the rounding of a difference from `total`.
std::optional<double> hidden_share(double exposed, double duration, double total) {
  if (duration <= 1e-12 * total) return std::nullopt;
  return 1 - exposed / duration;
}

// What a compute event is to the phases.
struct Kinds {
  bool forward = false;
  bool backward = false;  // B or I, or the first of a backward that has no I
  bool pair = false;
};

Kinds kinds_of(const Cell& cell) {
  if (std::holds_alternative<ActionPair>(cell)) return {true, true, true};
  const ActionKind kind = std::get<Action>(cell).kind;
  return {kind == ActionKind::Forward,
          kind == ActionKind::Backward || kind == ActionKind::Dgrad || kind == ActionKind::Wgrad,
          false};
}

Kinds kinds_of(const Step& step, const std::set<Step>& paired) {
  return {std::holds_alternative<RunForward>(step),
          std::holds_alternative<RunDgrad>(step) || std::holds_alternative<RunWgrad>(step),
          paired.contains(step)};
}

std::set<Step> steps_of_pairs(const std::vector<StepSpan>& spans, const std::vector<Step>& steps) {
  std::set<Step> paired;
  for (const StepSpan& span : spans) {
    if (!std::holds_alternative<ActionPair>(span.cell)) continue;
    for (std::size_t i = span.first; i < span.first + span.count && i < steps.size(); ++i) {
      paired.insert(steps[i]);
    }
  }
  return paired;
}

void widen(std::optional<double>& start, std::optional<double>& end, const Event& event) {
  start = std::min(start.value_or(event.start), event.start);
  end = std::max(end.value_or(event.end), event.end);
}

}  // namespace

TimelineMetrics measure(const Timeline& timeline) {
  TimelineMetrics metrics;
  RankMetrics sum;
  for (const RankTimeline& rank : timeline.ranks) {
    const RankMetrics of_rank = measure_rank(rank);
    metrics.makespan = std::max(metrics.makespan, rank.end);
    sum.all_to_all += of_rank.all_to_all;
    sum.all_to_all_exposed += of_rank.all_to_all_exposed;
    sum.all_to_all_steady += of_rank.all_to_all_steady;
    sum.all_to_all_exposed_steady += of_rank.all_to_all_exposed_steady;
    metrics.ranks.push_back(of_rank);
  }
  metrics.all_to_all_hidden_steady =
      hidden_share(sum.all_to_all_exposed_steady, sum.all_to_all_steady, sum.all_to_all);
  metrics.all_to_all_hidden_outside =
      hidden_share(sum.all_to_all_exposed - sum.all_to_all_exposed_steady,
                   sum.all_to_all - sum.all_to_all_steady, sum.all_to_all);
  return metrics;
}

void mark_steady(RankTimeline& rank, const std::vector<StepSpan>& spans,
                 const std::vector<Step>& steps) {
  const std::set<Step> paired = steps_of_pairs(spans, steps);
  std::optional<double> pair_start, pair_end, first_backward, last_forward;
  for (const Event& event : rank.events) {
    if (!is_work(event)) continue;
    const Cell* cell = std::get_if<Cell>(&event.label);
    const Kinds kinds =
        cell != nullptr ? kinds_of(*cell) : kinds_of(std::get<Step>(event.label), paired);
    if (kinds.pair) widen(pair_start, pair_end, event);
    if (kinds.forward) last_forward = std::max(last_forward.value_or(event.end), event.end);
    if (kinds.backward) {
      first_backward = std::min(first_backward.value_or(event.start), event.start);
    }
  }
  rank.steady_start.reset();
  rank.steady_end.reset();
  const auto start = pair_start ? pair_start : first_backward;
  const auto end = pair_end ? pair_end : last_forward;
  if (!start || !end || *start >= *end) return;
  rank.steady_start = start;
  rank.steady_end = end;
}

}  // namespace weft
