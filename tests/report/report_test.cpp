#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "timeline/events.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// A forward, a wait for its dispatch, another forward, a dgrad: of `slow` units each.
RankTimeline rank_with(int rank, int pp_rank, double slow, double end) {
  RankTimeline timeline = rank_of(
      rank, end,
      {step("0F0:attention.0", 0, slow), wire("0F0:dispatch.0", slow, slow, 2 * slow),
       step("wait(0F0:dispatch.0)", slow, 2 * slow), step("0F0:experts.0", 2 * slow, 3 * slow),
       step("0I0:experts.0", 3 * slow, 4 * slow)});
  timeline.pp_rank = Rank(pp_rank);
  return timeline;
}

// Two data parallel ranks of one pipeline rank; the prediction has one.
ReportInput sample() {
  ReportInput input;
  input.measured = TimelineFile{
      "Step 5", 5, {"ms", {rank_with(0, 0, 2, 9), rank_with(1, 0, 1, 9)}}, std::nullopt};
  input.predicted = Timeline{"ms", {rank_with(0, 0, 1, 4)}};
  return input;
}

MetricsLine line(std::int64_t step, double step_ms) {
  MetricsLine line;
  line.step = step;
  line.figures[0] = step_ms;
  return line;
}

TEST(Report, FiguresOfATimelineAreTheLargestOverRanks) {
  const Report report = make_report(sample());
  EXPECT_EQ(report.steps, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(report.figures[0].median, 9);  // step
  EXPECT_EQ(report.figures[0].predicted, 4);
  EXPECT_EQ(report.figures[1].median, 5);     // bubble of rank 1: 9 - 3 busy - 1 exposed
  EXPECT_EQ(report.figures[1].predicted, 0);  // 4 - 3 busy - 1 exposed
  EXPECT_EQ(report.figures[2].median, 2);     // all-to-all exposed, rank 0
  EXPECT_EQ(report.figures[2].predicted, 1);
}

// Steps 1 and 2 warm up; step 5 took 12, of which 3 outside its timeline of 9.
TEST(Report, MetricsAreMediansOfTheLaterSteps) {
  ReportInput input = sample();
  input.metrics = {line(1, 900), line(2, 800), line(3, 10), line(4, 20), line(5, 12)};
  const Report report = make_report(input);
  EXPECT_EQ(report.steps, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(report.figures[0].median, 12);
  EXPECT_EQ(report.figures[0].lowest, 10);
  EXPECT_EQ(report.figures[0].highest, 20);
  EXPECT_EQ(report.figures[0].predicted, 4 + 3);
}

TEST(Report, NamesThePlanOfAPredictionThatIsAnother) {
  ReportInput input = sample();
  input.measured->title = "dualpipev, P = 2, M = 4";
  input.predicted_title = "1f1b, P = 2, M = 4";
  EXPECT_EQ(make_report(input).title, "dualpipev, P = 2, M = 4; predicted: 1f1b, P = 2, M = 4");
  input.predicted_title = input.measured->title;
  EXPECT_EQ(make_report(input).title, "dualpipev, P = 2, M = 4");
}

TEST(Report, MetricsAloneHaveNoRanks) {
  ReportInput input;
  input.metrics = {line(1, 3)};
  const Report report = make_report(input);
  EXPECT_EQ(report.figures[0].median, 3);
  EXPECT_FALSE(report.figures[0].predicted.has_value());
  EXPECT_TRUE(report.ranks.empty());
}

// Rank 1 is as predicted but idle for 5 at the end. Rank 0, before its dgrad at 6, is busy for 4
// (predicted 2) and exposed for 2 (1), then busy for 2 (1) and idle for 1 (0).
TEST(Report, TheLargestDifferenceComesFirst) {
  const Report report = make_report(sample());
  ASSERT_EQ(report.ranks.size(), 2U);
  ASSERT_TRUE(report.ranks[1].predicted.has_value());
  ASSERT_EQ(report.differences.size(), 5U);
  const Difference& largest = report.differences[0];
  EXPECT_EQ(largest.rank, Rank(1));
  EXPECT_EQ(largest.phase, Phase::CoolDown);
  EXPECT_EQ(largest.part, TimePart::Bubble);
  EXPECT_EQ(largest.measured, 5);
  EXPECT_EQ(largest.predicted, 0);
  const Difference& second = report.differences[1];
  EXPECT_EQ(second.rank, Rank(0));
  EXPECT_EQ(second.phase, Phase::WarmUp);
  EXPECT_EQ(second.part, TimePart::Busy);
  EXPECT_EQ(second.size(), 2);
}

TEST(Report, KindsOfEventsHaveMeansOverRanks) {
  const Report report = make_report(sample());
  ASSERT_EQ(report.kinds.size(), 4U);
  for (const KindReport& kind : report.kinds) {
    EXPECT_EQ(kind.count, 2);
    EXPECT_EQ(kind.mean, 1.5);
    EXPECT_EQ(kind.predicted, 1);
  }
}

std::string refusal_of(const ReportInput& input) {
  try {
    make_report(input);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Report, WhatCannotBeComparedIsRefused) {
  ReportInput input = sample();
  input.predicted->unit = "units";
  EXPECT_THAT(refusal_of(input), HasSubstr("it is in units, the timeline in ms"));
  input = sample();
  input.predicted->ranks[0].pp_rank = Rank(3);
  EXPECT_THAT(refusal_of(input), HasSubstr("no pipeline rank 0"));
  input = sample();
  input.measured->timeline.unit = input.predicted->unit = "units";
  EXPECT_EQ(refusal_of(input), "accepted");
  input.metrics = {line(5, 12)};
  EXPECT_THAT(refusal_of(input), HasSubstr("in units, --metrics in ms"));
}

}  // namespace
}  // namespace weft
