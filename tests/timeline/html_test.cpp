#include "timeline/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/events.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// What the page's script gets.
Json data_of(const std::string& page) {
  const std::string head = "const DATA = ";
  const std::size_t at = page.find(head) + head.size();
  return Json::parse(page.substr(at, page.find(";\n", at) - at));
}

Timeline sample() {
  RankTimeline rank = rank_of(0, 10,
                              {step("0F0:attention.0", 0, 2), wire("0F0:dispatch.0", 2, 4, 7),
                               step("wait(0F0:dispatch.0)", 3, 7)});
  rank.memory = {{2, 4096}};
  rank.steady_start = 0;
  rank.steady_end = 7;
  return {"ms", {rank}};
}

TEST(Html, LoadsNothingFromElsewhere) {
  const std::string page = print_html(sample(), "a title");
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
}

TEST(Html, CarriesTracksAndMetrics) {
  const Json data = data_of(print_html(sample(), "a title"));
  EXPECT_EQ(data.at("title"), "a title");
  EXPECT_EQ(data.at("makespan"), 10);
  EXPECT_EQ(data.at("hidden_steady"), 0);
  const Json& rank = data.at("ranks").at(0);
  EXPECT_EQ(rank.at("memory"), Json::parse("[[2, 4096]]"));
  EXPECT_EQ(rank.at("metrics").at("busy"), 2);
  EXPECT_EQ(rank.at("metrics").at("exposed"), 3);
  EXPECT_EQ(rank.at("metrics").at("bubble"), 5);
  EXPECT_EQ(rank.at("tracks").at(0).at("events"), Json::parse(R"([["F", "0F0:attention.0", 0, 2],
                            ["b", "0F0:dispatch.0", 3, 4, [4, 7]],
                            ["x", "0F0:dispatch.0", 4, 7, [4, 7]]])"));
  EXPECT_EQ(rank.at("tracks").at(1).at("events"),
            Json::parse(R"([["f", "0F0:dispatch.0", 4, 7, 2]])"));
}

TEST(Html, TextCannotEndTheScript) {
  const std::string page = print_html(sample(), "</script><script>alert(1)</script>");
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_of(page).at("title"), "</script><script>alert(1)</script>");
}

}  // namespace
}  // namespace weft
