#include "comm/rank_report.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(RankReport, ComesBackAsItWas) {
  const std::vector<RankReport> reports = {
      FaultReport{"layer 3", "disk full"}, FaultReport{}, TerminatedReport{"layer 4"},
      UserReport{{"rule", "--flag 1", "is\nwrong"}, {"rule-two", "", ""}},
      PlanReport{{"verify_order", "a cycle"}}};
  std::string bytes;
  for (const RankReport& report : reports) bytes += encode(report);
  for (const RankReport& report : reports) EXPECT_EQ(take_report(bytes), report);
  EXPECT_EQ(take_report(bytes), std::nullopt);
}

TEST(RankReport, HalfAReportIsNotTaken) {
  const std::string whole = encode(FaultReport{"layer 3", "disk full"});
  std::string bytes = whole.substr(0, whole.size() - 1);
  EXPECT_EQ(take_report(bytes), std::nullopt);
  EXPECT_EQ(bytes.size(), whole.size() - 1);
}

}  // namespace
}  // namespace weft
