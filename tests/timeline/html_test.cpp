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
  const std::string page = print_html({"a title", {{"measured", sample()}}, {}});
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
}

TEST(Html, CarriesTracksAndMetrics) {
  const Json data = data_of(print_html({"a title", {{"measured", sample()}}, {}}));
  EXPECT_EQ(data.at("title"), "a title");
  const Json& timeline = data.at("timelines").at(0);
  EXPECT_EQ(timeline.at("label"), "measured");
  EXPECT_EQ(timeline.at("makespan"), 10);
  EXPECT_EQ(timeline.at("hidden_steady"), 0);
  const Json& rank = timeline.at("ranks").at(0);
  EXPECT_EQ(rank.at("memory"), Json::parse(R"({"unit": "bytes", "samples": [[2, 4096]]})"));
  EXPECT_EQ(rank.at("metrics").at("busy"), 2);
  EXPECT_EQ(rank.at("metrics").at("exposed"), 3);
  EXPECT_EQ(rank.at("metrics").at("bubble"), 5);
  EXPECT_EQ(rank.at("tracks").at(0).at("events"), Json::parse(R"([["F", "0F0:attention.0", 0, 2],
                            ["b", "0F0:dispatch.0", 3, 4, {"wire": [4, 7]}],
                            ["x", "0F0:dispatch.0", 4, 7, {"wire": [4, 7]}]])"));
  EXPECT_EQ(rank.at("tracks").at(1).at("events"),
            Json::parse(R"([["f", "0F0:dispatch.0", 4, 7, {"issued": 2}]])"));
}

// 1F0 waits for 0F0 of rank 0; bytes were not recorded, so the curve is that of live chunks.
TEST(Html, CellsSayWhatTheyNeed) {
  const Timeline timeline{"units",
                          {rank_of(0, 7, {cell("0F0", 0, 1), cell("0B0", 5, 7)}),
                           rank_of(1, 7, {cell("1F0", 1, 2), cell("1B0", 2, 5)})}};
  const Json data = data_of(print_html({"", {{"simulated", timeline}}, {}}));
  const Json& ranks = data.at("timelines").at(0).at("ranks");
  EXPECT_EQ(ranks.at(0).at("tracks").at(0).at("events").at(1),
            Json::parse(R"(["B", "0B0", 5, 7, {"needs": ["1B0", 5, 1]}])"));
  EXPECT_EQ(ranks.at(1).at("tracks").at(0).at("events").at(0),
            Json::parse(R"(["F", "1F0", 1, 2, {"needs": ["0F0", 1, 0]}])"));
  EXPECT_EQ(ranks.at(0).at("memory"),
            Json::parse(R"({"unit": "chunks", "samples": [[0, 1], [7, 0]]})"));
}

TEST(Html, CarriesTables) {
  const Table table{"Steps", "a note", {"", "measured"}, {{"step, ms", "4.5"}}};
  const Json data = data_of(print_html({"", {}, {table}}));
  EXPECT_EQ(data.at("tables"), Json::parse(R"([{"title": "Steps", "note": "a note",
                            "columns": ["", "measured"], "rows": [["step, ms", "4.5"]]}])"));
}

TEST(Html, TextCannotEndTheScript) {
  const std::string page = print_html({"</script><script>alert(1)</script>", {}, {}});
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_of(page).at("title"), "</script><script>alert(1)</script>");
}

}  // namespace
}  // namespace weft
