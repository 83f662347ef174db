#include "report/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/numbers.h"
#include "schedule/text.h"
#include "timeline/measured_costs.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

using Figures = std::array<std::optional<double>, kNumMetricsFigures>;

// The figures of one timeline: times the largest over ranks, as --metrics has them.
Figures figures_of(const Timeline& timeline) {
  const TimelineMetrics metrics = measure(timeline);
  const RankMetrics most = largest_over_ranks(metrics);
  return {metrics.makespan,
          most.bubble,
          most.all_to_all_exposed,
          most.p2p_exposed,
          most.counts_exposed,
          most.all_to_all,
          metrics.all_to_all_hidden_steady,
          metrics.all_to_all_hidden_outside};
}

StepFigure over_steps(const std::vector<Figures>& steps, std::size_t figure) {
  std::vector<double> values;
  for (const Figures& step : steps) {
    if (step[figure]) values.push_back(*step[figure]);
  }
  StepFigure result;
  if (values.empty()) return result;
  result.median = median(values);
  result.lowest = *std::min_element(values.begin(), values.end());
  result.highest = *std::max_element(values.begin(), values.end());
  return result;
}

// What the timeline's own step took outside the plan; empty if the metrics do not have that step.
std::optional<double> outside_plan(const ReportInput& input) {
  if (input.metrics.empty()) return 0;
  for (const MetricsLine& line : input.metrics) {
    if (input.measured->step != line.step || !line.figures[0]) continue;
    return *line.figures[0] - measure(input.measured->timeline).makespan;
  }
  return std::nullopt;
}

void add_figures(const ReportInput& input, Report& report) {
  std::vector<Figures> steps;
  const std::size_t first = input.metrics.size() > kCostSteps ? kCostSteps : 0;
  for (std::size_t i = first; i < input.metrics.size(); ++i) {
    report.steps.push_back(input.metrics[i].step);
    steps.push_back(input.metrics[i].figures);
  }
  if (steps.empty()) {
    if (input.measured->step) report.steps.push_back(*input.measured->step);
    steps.push_back(figures_of(input.measured->timeline));
  }
  Figures predicted{};
  if (input.predicted) {
    predicted = figures_of(*input.predicted);
    const std::optional<double> outside = outside_plan(input);
    predicted[0] = outside ? std::optional(*predicted[0] + *outside) : std::nullopt;
  }
  for (std::size_t i = 0; i < kNumMetricsFigures; ++i) {
    report.figures.push_back(over_steps(steps, i));
    report.figures.back().predicted = predicted[i];
  }
}

// The first rank of each pipeline rank: a prediction has one.
std::map<Rank, TimesByPhase> by_pipeline_rank(const Timeline& timeline) {
  std::map<Rank, TimesByPhase> times;
  for (const RankTimeline& rank : timeline.ranks) {
    if (!times.contains(rank.pp_rank)) times[rank.pp_rank] = phase_times(rank);
  }
  return times;
}

void add_ranks(const ReportInput& input, Report& report) {
  std::map<Rank, TimesByPhase> predicted;
  if (input.predicted) predicted = by_pipeline_rank(*input.predicted);
  for (const RankTimeline& rank : input.measured->timeline.ranks) {
    RankReport& of = report.ranks.emplace_back(
        RankReport{rank.rank, rank.pp_rank, phase_times(rank), std::nullopt});
    if (!input.predicted) continue;
    const auto found = predicted.find(rank.pp_rank);
    if (found == predicted.end()) {
      throw UserError(
          Violation{"report-prediction", "--predicted",
                    "it has no pipeline rank " + std::to_string(rank.pp_rank.value) +
                        ", which --timeline has: simulate the plan of the run that was measured"});
    }
    of.predicted = found->second;
  }
}

void add_differences(Report& report) {
  for (const RankReport& rank : report.ranks) {
    if (!rank.predicted) continue;
    for (std::size_t p = 0; p < kNumPhases; ++p) {
      for (std::size_t t = 0; t < kNumTimeParts; ++t) {
        const Difference difference{rank.rank, static_cast<Phase>(p), static_cast<TimePart>(t),
                                    rank.measured[p].parts[t], (*rank.predicted)[p].parts[t]};
        if (difference.size() != 0) report.differences.push_back(difference);
      }
    }
  }
  std::stable_sort(report.differences.begin(), report.differences.end(),
                   [](const Difference& a, const Difference& b) {
                     return std::abs(a.size()) > std::abs(b.size());
                   });
}

std::string kind_name(const Event& event) {
  if (const Wire* wire = wire_of(event)) return std::string(wire_name(wire->kind));
  const std::string name = work_name(event);
  const Step* step = std::get_if<Step>(&event.label);
  if (step == nullptr) return name;
  const auto of = [&](const Segment& segment) {
    return std::string(segment_name(segment.kind)) + " " + name;
  };
  if (const auto* run = std::get_if<RunForward>(step)) return of(run->segment);
  if (const auto* run = std::get_if<RunDgrad>(step)) return of(run->segment);
  if (const auto* run = std::get_if<RunWgrad>(step)) return of(run->segment);
  return "release";
}

struct Sum {
  double time = 0;
  int count = 0;
};

std::map<std::string, Sum> sums_by_kind(const Timeline& timeline) {
  std::map<std::string, Sum> sums;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (!is_work(event) && event.lane == Lane::Compute) continue;
      Sum& sum = sums[kind_name(event)];
      sum.time += event.end - event.start;
      ++sum.count;
    }
  }
  return sums;
}

void add_kinds(const ReportInput& input, Report& report) {
  std::map<std::string, Sum> predicted;
  if (input.predicted) predicted = sums_by_kind(*input.predicted);
  for (const auto& [name, sum] : sums_by_kind(input.measured->timeline)) {
    KindReport& kind =
        report.kinds.emplace_back(KindReport{name, sum.count, sum.time / sum.count, std::nullopt});
    if (const auto found = predicted.find(name); found != predicted.end()) {
      kind.predicted = found->second.time / found->second.count;
    }
  }
  std::stable_sort(
      report.kinds.begin(), report.kinds.end(),
      [](const KindReport& a, const KindReport& b) { return a.mean * a.count > b.mean * b.count; });
}

void require_one_unit(const ReportInput& input) {
  const std::string& unit = input.measured->timeline.unit;
  if (input.predicted && input.predicted->unit != unit) {
    throw UserError(Violation{"report-prediction", "--predicted",
                              "it is in " + input.predicted->unit + ", the timeline in " + unit +
                                  ": simulate with costs of the run (`weft report --costs`)"});
  }
  if (!input.metrics.empty() && unit != "ms") {
    throw UserError(Violation{"report-unit", "--timeline",
                              "it is in " + unit + ", --metrics in ms: they are not of one run"});
  }
}

}  // namespace

Report make_report(const ReportInput& input) {
  weft_assert(input.measured || !input.metrics.empty(), "a report is about something");
  weft_assert(input.measured || !input.predicted, "a prediction is of a timeline");
  Report report;
  report.unit = "ms";
  if (input.measured) {
    require_one_unit(input);
    report.title = input.measured->title;
    if (!input.predicted_title.empty() && input.predicted_title != report.title) {
      report.title += "; predicted: " + input.predicted_title;
    }
    report.unit = input.measured->timeline.unit;
    add_ranks(input, report);
    add_differences(report);
    add_kinds(input, report);
  }
  add_figures(input, report);
  return report;
}

}  // namespace weft
