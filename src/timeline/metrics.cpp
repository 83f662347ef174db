#include "timeline/metrics.h"

#include <algorithm>
#include <array>
#include <map>

namespace weft {
namespace {

// Half-open, so that a wire started at the very end of the last pair is outside.
bool is_steady(const RankTimeline& rank, double time) {
  return rank.steady_start && rank.steady_end && time >= *rank.steady_start &&
         time < *rank.steady_end;
}

double issue_of(const Event& wire) { return wire.issued.value_or(wire.start); }

void add_exposed(RankMetrics& metrics, WireKind kind, bool steady, double exposed) {
  metrics.exposed_communication += exposed;
  if (is_all_to_all(kind)) {
    metrics.all_to_all_exposed += exposed;
    if (steady) metrics.all_to_all_exposed_steady += exposed;
  } else if (kind == WireKind::Counts) {
    metrics.counts_exposed += exposed;
  } else if (is_gradient_wire(kind)) {
    metrics.reduce_exposed += exposed;
  } else {
    metrics.p2p_exposed += exposed;
  }
}

RankMetrics measure_rank(const RankTimeline& rank) {
  RankMetrics metrics;
  const std::vector<const Event*> waited = waited_wires(rank);
  for (std::size_t i = 0; i < rank.events.size(); ++i) {
    const Event& event = rank.events[i];
    if (is_work(event)) metrics.busy += event.end - event.start;
    if (const Event* wire = waited[i]) {
      const auto [start, end] = exposed_part(event, *wire);
      add_exposed(metrics, wire_of(event)->kind, is_steady(rank, issue_of(*wire)), end - start);
    }
    const Wire* wire = event.lane == Lane::Compute ? nullptr : wire_of(event);
    if (wire == nullptr || !is_all_to_all(wire->kind)) continue;
    metrics.all_to_all += event.end - event.start;
    if (is_steady(rank, issue_of(event))) metrics.all_to_all_steady += event.end - event.start;
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

// Whether steps came from a pair, asked in the order of the list: linear in all.
class PairedSteps {
 public:
  PairedSteps(const std::vector<StepSpan>& spans, const std::vector<Step>& steps)
      : spans_(spans), steps_(steps) {}

  bool next(const Step& step) {
    std::size_t at = next_;
    while (at < steps_.size() && steps_[at] != step) ++at;
    if (at == steps_.size()) return false;
    next_ = at + 1;
    while (span_ < spans_.size() && spans_[span_].first + spans_[span_].count <= at) ++span_;
    return span_ < spans_.size() && std::holds_alternative<ActionPair>(spans_[span_].cell);
  }

 private:
  const std::vector<StepSpan>& spans_;
  const std::vector<Step>& steps_;
  std::size_t next_ = 0;
  std::size_t span_ = 0;
};

Kinds kinds_of(const Step& step, PairedSteps& paired) {
  return {std::holds_alternative<RunForward>(step),
          std::holds_alternative<RunDgrad>(step) || std::holds_alternative<RunWgrad>(step),
          paired.next(step)};
}

void widen(std::optional<double>& start, std::optional<double>& end, const Event& event) {
  start = std::min(start.value_or(event.start), event.start);
  end = std::max(end.value_or(event.end), event.end);
}

}  // namespace

std::vector<const Event*> waited_wires(const RankTimeline& rank) {
  // The events of each wire in order: its n-th wait is for its n-th exchange.
  std::map<Wire, std::vector<const Event*>> exchanges;
  for (const Event& event : rank.events) {
    const Wire* wire = event.lane == Lane::Compute ? nullptr : wire_of(event);
    if (wire != nullptr) exchanges[*wire].push_back(&event);
  }
  std::map<Wire, std::size_t> seen;
  std::vector<const Event*> waited;
  for (const Event& event : rank.events) {
    waited.push_back(nullptr);
    const Wire* wire = event.lane == Lane::Compute ? wire_of(event) : nullptr;
    const auto found = wire == nullptr ? exchanges.end() : exchanges.find(*wire);
    if (found == exchanges.end()) continue;
    waited.back() = found->second[std::min(seen[*wire]++, found->second.size() - 1)];
  }
  return waited;
}

std::pair<double, double> exposed_part(const Event& wait, const Event& wire) {
  const double start = std::clamp(wire.start, wait.start, wait.end);
  return {start, std::clamp(wire.end, start, wait.end)};
}

RankMetrics largest_over_ranks(const TimelineMetrics& metrics) {
  static constexpr std::array kNumbers{&RankMetrics::busy,
                                       &RankMetrics::idle,
                                       &RankMetrics::bubble,
                                       &RankMetrics::exposed_communication,
                                       &RankMetrics::all_to_all,
                                       &RankMetrics::all_to_all_exposed,
                                       &RankMetrics::all_to_all_steady,
                                       &RankMetrics::all_to_all_exposed_steady,
                                       &RankMetrics::counts_exposed,
                                       &RankMetrics::p2p_exposed,
                                       &RankMetrics::reduce_exposed};
  RankMetrics largest;
  for (const RankMetrics& rank : metrics.ranks) {
    for (double RankMetrics::* number : kNumbers) {
      largest.*number = std::max(largest.*number, rank.*number);
    }
  }
  return largest;
}

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
  PairedSteps paired(spans, steps);
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
