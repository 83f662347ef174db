#include "config/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "config/flag.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(Help, EveryVerbListsAllItsFlags) {
  for (const VerbInfo& info : verb_table()) {
    if (!info.not_built.empty()) continue;
    const std::string text = verb_help(info.verb);
    for (const Flag& flag : flag_table()) {
      const std::string name = " --" + std::string(flag.name);
      const bool listed =
          text.find(name + "\n") != std::string::npos || text.find(name + " ") != std::string::npos;
      EXPECT_EQ(listed, contains(flag.verbs, info.verb)) << info.name << " " << flag.name;
    }
  }
}

TEST(Help, PlanTakesWhatTrainTakes) {
  for (const Flag& flag : flag_table()) {
    const VerbSet takes = flag.verbs | flag.traits.ignored_by;
    EXPECT_TRUE(!contains(takes, Verb::Train) || contains(takes, Verb::Plan)) << flag.name;
  }
}

TEST(Help, EveryFlagBelongsToAVerb) {
  for (const Flag& flag : flag_table()) {
    bool found = false;
    for (const VerbInfo& info : verb_table()) found = found || contains(flag.verbs, info.verb);
    EXPECT_TRUE(found) << flag.name;
  }
}

TEST(Help, AVerbThatIsNotBuiltSaysSo) {
  EXPECT_THAT(verb_help(Verb::Logits), HasSubstr("Not built yet; "));
}

TEST(Help, FitsATerminal) {
  for (const VerbInfo& info : verb_table()) {
    std::istringstream lines(verb_help(info.verb));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Help, ShowsDefaultsAndExamples) {
  const std::string text = verb_help(Verb::Schedule);
  EXPECT_THAT(text, HasSubstr("P, pipeline ranks (default: 1)"));
  EXPECT_THAT(text, HasSubstr("Examples:\n  weft schedule "));
  EXPECT_THAT(text, HasSubstr("docs/from-megatron.md"));
  for (const VerbInfo& info : verb_table()) {
    EXPECT_THAT(program_help(), HasSubstr("\n  " + std::string(info.name) + " "));
  }
}

}  // namespace
}  // namespace weft
