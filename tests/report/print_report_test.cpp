#include "report/print_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/events.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Rank 0 is busy for 2, waits 3 for a dispatch that is predicted to take 1, is busy for 2 in a
// dgrad, and the step ends at 8, a unit later (predicted: at 6).
Report sample() {
  const auto rank = [](double arrives, double end) {
    return rank_of(
        0, end,
        {step("0F0:attention.0", 0, 2), wire("0F0:dispatch.0", 2, 2, arrives),
         step("wait(0F0:dispatch.0)", 2, arrives), step("0I0:attention.0", arrives, arrives + 2)});
  };
  ReportInput input;
  input.measured = TimelineFile{"Step 5: 1f1b", 5, {"ms", {rank(5, 8)}}, std::nullopt};
  input.predicted = Timeline{"ms", {rank(3, 6)}};
  return make_report(input);
}

TEST(PrintReport, Text) {
  EXPECT_EQ(print_report_text(sample()),
            "Step 5: 1f1b\n"
            "\n"
            "Step 5\n"
            "                            measured  lowest  highest  predicted  difference\n"
            "step, ms                           8       8        8          6          +2\n"
            "  bubble                           1       1        1          1           0\n"
            "  all-to-all exposed               3       3        3          1          +2\n"
            "  P2P exposed                      0       0        0          0           0\n"
            "  counts exposed                   0       0        0          0           0\n"
            "all-to-all on the wire, ms         3       3        3          1          +2\n"
            "  hidden in steady                 -       -        -          -           -\n"
            "  hidden outside               0.0 %   0.0 %    0.0 %      0.0 %       0.0 %\n"
            "Times are the largest over ranks, measured the median over steps; shares are of\n"
            "all ranks.\n"
            "\n"
            "By phase, ms, mean over ranks\n"
            "             length  busy  bubble  a2a  P2P  counts  reduce  hidden\n"
            "warm-up           5     2       0    3    0       0       0   0.0 %\n"
            "  predicted       3     2       0    1    0       0       0   0.0 %\n"
            "steady            0     0       0    0    0       0       0       -\n"
            "  predicted       0     0       0    0    0       0       0       -\n"
            "cool-down         3     2       1    0    0       0       0       -\n"
            "  predicted       3     2       1    0    0       0       0       -\n"
            "a2a, P2P, counts, reduce: exposed. hidden: share of the all-to-alls started in\n"
            "the phase.\n"
            "\n"
            "By rank, ms\n"
            "             length  busy  bubble  a2a  P2P  counts  reduce  hidden\n"
            "rank 0            8     4       1    3    0       0       0   0.0 %\n"
            "  predicted       6     4       1    1    0       0       0   0.0 %\n"
            "\n"
            "Largest differences, ms\n"
            "where                                measured  predicted  difference\n"
            "rank 0, warm-up: all-to-all exposed         3          1          +2\n"
            "\n"
            "By kind of event, mean, ms\n"
            "                   events  measured  predicted  difference\n"
            "dispatch                1         3          1          +2\n"
            "attention dgrad         1         2          2           0\n"
            "attention forward       1         2          2           0\n");
}

TEST(PrintReport, Json) {
  const auto json = nlohmann::json::parse(print_report_json(sample()));
  EXPECT_EQ(json["unit"], "ms");
  EXPECT_EQ(json["steps"], nlohmann::json::parse("[5]"));
  EXPECT_EQ(
      json["figures"]["step_ms"],
      nlohmann::json::parse(R"({"median": 8.0, "lowest": 8.0, "highest": 8.0, "predicted": 6.0})"));
  EXPECT_EQ(json["figures"]["all_to_all_hidden_steady"]["median"], nullptr);
  const auto& rank = json["ranks"][0];
  EXPECT_EQ(rank["pipeline_rank"], 0);
  EXPECT_EQ(rank["measured"]["all_to_all_exposed"], 3.0);
  EXPECT_EQ(rank["predicted"]["all_to_all_exposed"], 1.0);
  EXPECT_EQ(rank["phases"][2]["phase"], "cool-down");
  EXPECT_EQ(rank["phases"][2]["measured"]["bubble"], 1.0);
  EXPECT_EQ(json["phases"][0]["measured"]["length"], 5.0);
  EXPECT_EQ(json["differences"][0]["difference"], 2.0);
  EXPECT_EQ(json["kinds"][0]["kind"], "dispatch");
}

TEST(PrintReport, OfMetricsAlone) {
  ReportInput input;
  input.metrics.resize(1);
  input.metrics[0].step = 1;
  input.metrics[0].figures[0] = 1234.5;
  const std::string text = print_report_text(make_report(input));
  EXPECT_THAT(text, HasSubstr("step, ms                      1234.5"));
  EXPECT_THAT(text, Not(HasSubstr("By rank")));
  EXPECT_EQ(nlohmann::json::parse(print_report_json(make_report(input)))["ranks"].size(), 0U);
}

// Steps of 90 s are read in seconds, of three hours in hours.
TEST(PrintReport, TimesAreInTheirNaturalUnit) {
  ReportInput input;
  MetricsLine line;
  line.step = 1;
  line.figures[0] = 90000;
  input.metrics = {line};
  EXPECT_THAT(print_report_text(make_report(input)),
              testing::ContainsRegex("step, s +90 +90 +90 "));
  input.metrics[0].figures[0] = 3 * 3600e3;
  EXPECT_THAT(print_report_text(make_report(input)), testing::ContainsRegex("step, h +3 +3 +3 "));
}

}  // namespace
}  // namespace weft
