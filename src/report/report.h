// What a run measured, beside what was predicted: numbers read off metrics and timelines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/metrics_lines.h"
#include "timeline/phase_times.h"
#include "timeline/timeline_file.h"

namespace weft {

struct ReportInput {
  std::vector<MetricsLine> metrics;      // may be empty
  std::optional<TimelineFile> measured;  // metrics or this
  std::optional<Timeline> predicted;     // needs `measured`
  std::string predicted_title = {};      // empty: it is of the plan that was measured
};

// One figure of kMetricsFigures over the steps that the report is about.
struct StepFigure {
  std::optional<double> median, lowest, highest;
  std::optional<double> predicted;
};

struct RankReport {
  Rank rank;
  Rank pp_rank;
  TimesByPhase measured;
  std::optional<TimesByPhase> predicted;  // of its pipeline rank
};

// Events of one kind: `experts dgrad`, `dispatch`, `F`.
struct KindReport {
  std::string name;
  int count = 0;                    // measured events
  double mean = 0;                  // of their durations
  std::optional<double> predicted;  // mean too
};

// A time that is not as predicted.
struct Difference {
  Rank rank;
  Phase phase = Phase::WarmUp;
  TimePart part = TimePart::Busy;
  double measured = 0;
  double predicted = 0;

  double size() const { return measured - predicted; }
};

struct Report {
  std::string title;                    // with that of the prediction, where it is another plan
  std::string unit;                     // of the timelines
  std::vector<std::int64_t> steps;      // that the figures are about
  std::vector<StepFigure> figures;      // as kMetricsFigures
  std::vector<RankReport> ranks;        // empty without a timeline
  std::vector<KindReport> kinds;        // by measured time in all, the longest first
  std::vector<Difference> differences;  // the largest first; empty without a prediction
};

// The first two steps warm up and are what a run's own prediction is made from: where there are
// more, the figures are about the others. Without metrics they are those of the timeline. A
// prediction says nothing of what lies outside the plan (data, norm, optimizer): what that took in
// the timeline's own step is added to its `step_ms`. Throws UserError if the prediction is in
// another unit or has other pipeline ranks.
Report make_report(const ReportInput& input);

}  // namespace weft
