#include "config/rules_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "config/rules.h"

namespace weft {
namespace {

TEST(PrintRules, NamesEveryRuleOfTheOriginalWithinAScreen) {
  const std::string text = print_rules();
  for (const Rule& rule : original_rules()) {
    EXPECT_THAT(text, testing::HasSubstr("\n" + std::string(rule.name) + "  ")) << rule.name;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(PrintRules, FitsANarrowTerminal) {
  const std::string text = print_rules(80);
  for (const Rule& rule : original_rules()) {
    EXPECT_THAT("\n" + text, testing::HasSubstr("\n" + std::string(rule.name) + "\n")) << rule.name;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(PrintRules, ARowHasItsVerdictAndWhatWeftDoes) {
  EXPECT_THAT(print_rules(),
              testing::HasSubstr(
                  "\n"
                  "dualpipev-no-virtual-pipeline  DualPipeV   no virtual pipeline     kept    "
                  "refused: the V fixes two\n"
                  "                                           flags                           "
                  "chunks a rank\n"));
  EXPECT_THAT(print_rules(),
              testing::HasSubstr("\n"
                                 "dualpipev-one-rank             DualPipeV   more than one "
                                 "pipeline  lifted  a V of two chunks on one\n"));
}

}  // namespace
}  // namespace weft
