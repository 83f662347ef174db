#include "layout/layout_string.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace weft {
namespace {

std::string expanded(const std::string& text) {
  return print_layout_string(parse_layout_string(text));
}

std::string message_of(const std::string& text) {
  try {
    parse_layout_string(text);
  } catch (const UserError& error) {
    EXPECT_EQ(error.violations().at(0).found, "--pipeline-model-parallel-layout");
    return error.violations().at(0).message;
  }
  return "accepted";
}

TEST(LayoutString, StagesAndLayersAreNumberedInOrder) {
  const auto stages = parse_layout_string("Ett|tt|ttt|tmL");
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_EQ(stages[0], (StageLayers{true, {0, 1}, {}, false}));
  EXPECT_EQ(stages[1], (StageLayers{false, {2, 3}, {}, false}));
  EXPECT_EQ(stages[2], (StageLayers{false, {4, 5, 6}, {}, false}));
  EXPECT_EQ(stages[3], (StageLayers{false, {7}, {0}, true}));
}

TEST(LayoutString, RepeatsAndGroups) {
  EXPECT_EQ(expanded("Et*3|t*2|L"), "Ettt|tt|L");
  EXPECT_EQ(expanded("Et|*3tL"), "Et|||tL");
  EXPECT_EQ(expanded("E(t*2|)*3L"), "Ett|tt|tt|L");
  EXPECT_EQ(expanded("E(|tt)*3L"), "E|tt|tt|ttL");
  EXPECT_EQ(expanded("E(|t,t)*2,,|m,L,"), "E|tt|tt|mL");
  EXPECT_EQ(expanded("Et*1,2L"), "EttttttttttttL");
  EXPECT_EQ(expanded("Et(t)*2(t|)*1tL"), "Etttt|tL");
  EXPECT_EQ(expanded("EL"), "EL");
}

TEST(LayoutString, SixtyOneLayersOnThirtyTwoStages) {
  const auto stages = parse_layout_string("Ettt|(tt|)*29,m|L");
  ASSERT_EQ(stages.size(), 32u);
  EXPECT_EQ(stage_text(stages[0]), "Ettt");
  EXPECT_EQ(stages[29].decoder_layers, (std::vector<int>{59, 60}));
  EXPECT_EQ(stage_text(stages[30]), "m");
  EXPECT_EQ(stage_text(stages[31]), "L");
}

TEST(LayoutString, ACharacterOfSeveralBytesIsShownWhole) {
  EXPECT_EQ(
      message_of("E\xC3\xA9tL"),
      "unknown character `\xC3\xA9`; expected E (embedding), t (decoder layer), m (MTP layer), "
      "L (loss), |, ( or a comma\n"
      "    E\xC3\xA9tL\n"
      "     ^");
}

TEST(LayoutString, OfALongStringTheErrorShowsAPart) {
  EXPECT_EQ(message_of("E" + std::string(100, 't') + "xt" + std::string(100, 't') + "L"),
            "unknown character `x`; expected E (embedding), t (decoder layer), m (MTP layer), L "
            "(loss), |, ( or a comma\n"
            "    ..." +
                std::string(40, 't') + "x" + std::string(29, 't') + "...\n    " +
                std::string(43, ' ') + "^");
}

TEST(LayoutString, AnErrorShowsItsPlace) {
  EXPECT_EQ(message_of("Ett|xt|L"),
            "unknown character `x`; expected E (embedding), t (decoder layer), m (MTP layer), L "
            "(loss), |, ( or a comma\n"
            "    Ett|xt|L\n"
            "        ^");
  EXPECT_EQ(message_of("E((t)*2|)*3L"),
            "a group inside a group; groups do not nest\n"
            "    E((t)*2|)*3L\n"
            "      ^");
  EXPECT_EQ(message_of("Et,t*0|L"),
            "a count of zero; expected 1 or more\n"
            "    Et,t*0|L\n"
            "         ^");
  EXPECT_EQ(message_of("Ett|tL|"),
            "nothing stands behind L, the loss: it ends the last stage\n"
            "    Ett|tL|\n"
            "          ^");
  EXPECT_EQ(message_of("Ett|tt"),
            "expected L, the loss, at the end of the last stage\n"
            "    Ett|tt\n"
            "          ^");
  EXPECT_EQ(message_of("Ett|(tE|)*2L"),
            "a second E; there is one embedding\n"
            "    Ett|(tE|)*2L\n"
            "          ^");
  EXPECT_EQ(message_of("E(tt|L"),
            "this group is not closed; expected `)`\n"
            "    E(tt|L\n"
            "     ^");
}

// A newline within the string would part the caret from its place.
TEST(LayoutString, ControlCharactersAreShownAsQuestionMarks) {
  EXPECT_EQ(message_of("Et\nt\x01|L").substr(0, 21), "unknown character `?`");
  const std::string message = message_of("Et\nt\x01|L");
  EXPECT_EQ(message.substr(message.find('\n')), "\n    Et?t?|L\n      ^");
}

TEST(LayoutString, Refused) {
  for (const char* text : {"",       ",",       "tL",        "|EtL",     "tEL",   "Et",     "EtLL",
                           "EtLm",   "EtmtL",   "Etm|tL",    "E()*2L",   "E(t)L", "E(t)*L", "Et*L",
                           "Et*-1L", "Et*2*2L", "E(t)*2*2L", "E*tL",     "*2EL",  "Et)L",   "Et L",
                           "etL",    "E(t)*0L", "E2tL",      "E(t*0)*2L"}) {
    EXPECT_THROW(parse_layout_string(text), UserError) << text;
  }
}

TEST(LayoutString, AShortStringCannotAskForALotOfMemory) {
  for (const char* text :
       {"Et*999999999L", "Et*99999999999999999999999L", "E(t*90000|)*90000L", "Et*60000t*60000L"}) {
    EXPECT_THROW(parse_layout_string(text), UserError) << text;
  }
}

}  // namespace
}  // namespace weft
