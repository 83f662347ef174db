#include "timeline/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "timeline/events.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Tags in order, `/` of those that end; fails where an element is left open or a `<` stands bare.
void expect_well_formed(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++number;
  }
  return number;
}

Timeline two_ranks() {
  return {"units",
          {rank_of(0, 6, {cell("0F0", 0, 1), cell("0F1", 1, 2), cell("0B0", 4, 6)}),
           rank_of(1, 6, {cell("1F0", 1, 2), cell("1B0", 2, 4), cell("1F1", 4, 5)})}};
}

TEST(Svg, StandsAlone) {
  const std::string svg = print_svg(two_ranks(), "1f1b, P = 2");
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "http"), 1U) << "the name of the format alone";
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(Svg, EveryCellIsThereOnceWithItsTimesAndItsText) {
  const std::string svg = print_svg(two_ranks(), "1f1b");
  for (const char* about :
       {"0F0, 0 to 1", "0F1, 1 to 2", "0B0, 4 to 6", "1F0, 1 to 2", "1B0, 2 to 4", "1F1, 4 to 5"}) {
    EXPECT_EQ(count(svg, std::string("<title>") + about), 1U) << about;
    EXPECT_EQ(count(svg, ">" + std::string(about).substr(0, 3) + "</text>"), 1U) << about;
  }
  EXPECT_THAT(svg, HasSubstr("6 units, bubble"));
}

// 400 units of 20 pixels do not stand in one line: cells at a fold are in both bands.
TEST(Svg, ALongStepIsFoldedIntoBands) {
  RankTimeline rank = rank_of(0, 400, {});
  for (int i = 0; i < 400; ++i) {
    rank.events.push_back(cell("0F" + std::to_string(i), i, i + 1));
  }
  const std::string svg = print_svg({"units", {rank}}, "long", 1000);
  expect_well_formed(svg);
  EXPECT_GE(count(svg, ">rank 0</text>"), 8U);
  EXPECT_LE(count(svg, ">rank 0</text>"), 10U);
  EXPECT_EQ(count(svg, "<title>0F399, "), 1U);
}

// A wait is drawn where its wire was under way; before that the row is idle.
TEST(Svg, ExposedCommunicationIsDrawn) {
  const Timeline timeline{
      "ms",
      {rank_of(0, 10,
               {step("0F0:attention.0", 0, 2), wire("0F0:dispatch.0", 2, 4, 7),
                step("wait(0F0:dispatch.0)", 3, 7), step("0F0:experts.0", 7, 9)})}};
  const std::string svg = print_svg(timeline, "steps");
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<title>exposed: 0F0:dispatch.0, 4 to 7"), 1U);
  EXPECT_THAT(svg, HasSubstr(">dispatch</text>"));
}

TEST(Svg, ATitleIsTextWhateverItHolds) {
  const std::string svg = print_svg(two_ranks(), "</svg><b>&\xff");
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("&lt;/svg&gt;&lt;b&gt;&amp;?"));
}

TEST(Svg, NothingToDraw) { expect_well_formed(print_svg({"units", {}}, "")); }

}  // namespace
}  // namespace weft
