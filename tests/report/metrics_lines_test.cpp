#include "report/metrics_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// The example of cli.md, shortened.
const std::string kLine =
    R"({"step": 1, "loss": 5.5, "step_ms": 4096.0, "all_to_all_ms": 96.1, )"
    R"("all_to_all_exposed_ms": 4.2, "all_to_all_hidden_steady": 0.97, )"
    R"("all_to_all_hidden_outside": null, "counts_exposed_ms": 0.4, "p2p_exposed_ms": 1.0, )"
    R"("bubble_ms": 60.2})";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(MetricsLines, FiguresInTheirOrder) {
  const auto lines = parse_metrics(kLine + "\n\n" + replaced(kLine, "1,", "2,") + "\n", "m");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].step, 2);
  const std::array<std::optional<double>, kNumMetricsFigures> expected = {
      4096.0, 60.2, 4.2, 1.0, 0.4, 96.1, 0.97, std::nullopt};
  EXPECT_EQ(lines[0].figures, expected);
}

TEST(MetricsLines, TheLaterLineOfAStepCounts) {
  const auto lines = parse_metrics(kLine + "\n" + replaced(kLine, "4096", "5000"), "m");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].figures[0], 5000.0);
}

std::string refusal_of(const std::string& text) {
  try {
    parse_metrics(text, "run.jsonl");
  } catch (const UserError& error) {
    return error.violations().front().found + " | " + error.violations().front().message;
  }
  return "accepted";
}

TEST(MetricsLines, WhatIsDamagedIsRefusedWithItsLine) {
  EXPECT_EQ(refusal_of(""), "run.jsonl | holds no step");
  EXPECT_THAT(refusal_of(kLine + "\n" + kLine.substr(0, 40)),
              HasSubstr("run.jsonl:2 | no JSON object"));
  EXPECT_THAT(refusal_of("[1]"), HasSubstr("run.jsonl:1 | no JSON object"));
  EXPECT_EQ(refusal_of("{}"), "run.jsonl:1 | the key step is missing, or no whole number");
  EXPECT_EQ(refusal_of(R"({"step": 1})"), "run.jsonl:1 | the key step_ms is missing");
  EXPECT_EQ(refusal_of(replaced(kLine, "60.2", "\"x\"")), "run.jsonl:1 | bubble_ms is no number");
}

}  // namespace
}  // namespace weft
