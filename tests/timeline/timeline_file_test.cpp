#include "timeline/timeline_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "timeline/events.h"
#include "timeline/perfetto.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Every kind of label, an empty rank, and doubles that need all their digits.
Timeline sample() {
  RankTimeline rank = rank_of(3, 1.0 / 3,
                              {cell("0F3", 0, 0.1), cell("(7F4;0B0)OVERLAP_F_B", 0.1, 0.3),
                               step("0F3:embedding", 0, 1e-300), step("5I1:attention.12", 1, 2),
                               step("5W1:experts.12", 2, 0x1.fffffffffffffp+48),
                               step("wait(0F3:dispatch.2)", 3, 4), wire("4SEND_B7", 0.1, 0.2, 0.3),
                               wire("0REDUCE_GRAD", -0.5, 7, 8), raw_wire("0F3:counts.2", 3, 4)});
  rank.pp_rank = Rank(1);
  rank.events.push_back({Lane::Compute, parse_step("release(0F3:dispatch.2)"), 5, 5, {}});
  rank.memory = {{0.25, 123456789012345}, {0.5, -1}};
  rank.steady_start = 0.1 + 0.2;
  return {"ms", {rank, rank_of(0, 0, {})}};
}

TimelineFile sample_file() { return {"Step 7", 7, sample(), Timeline{"ms", {rank_of(0, 2, {})}}}; }

TEST(TimelineFile, ReadsBackEqual) {
  EXPECT_EQ(parse_timeline_file(print_timeline_file(sample_file()), "t.json"), sample_file());
  const TimelineFile simulated{"", {}, {"units", {}}, {}};
  EXPECT_EQ(parse_timeline_file(print_timeline_file(simulated), "t.json"), simulated);
}

// Perfetto reads up to the first key that it does not know.
TEST(TimelineFile, IsATraceWithOneKeyBehindTheEvents) {
  const std::string text = print_timeline_file(sample_file());
  Json trace = Json::parse(text);
  EXPECT_LT(text.find("\"traceEvents\""), text.find("\"weft\""));
  trace.erase("weft");
  EXPECT_EQ(trace, Json::parse(print_perfetto(sample())));
}

std::string refusal_of(const std::string& text) {
  try {
    parse_timeline_file(text, "t.json");
  } catch (const UserError& error) {
    return error.violations().front().found + " | " + error.violations().front().message;
  }
  return "accepted";
}

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = R"({"traceEvents": [], "weft": {"format": 1, "title": "", "timeline":
      {"unit": "ms", "ranks": [{"rank": 0, "pipeline_rank": 0, "end": 5.0, "steady": [null, null],
       "events": [[0, "0F0", 0.0, 1.0], [0, "0B0", 1.0, 3.0]], "memory": [[0.5, 64]]}]}}})";
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, old_text.size(), new_text);
}

TEST(TimelineFile, ADamagedOneIsRefusedWithThePlace) {
  EXPECT_EQ(refusal_of(with("ms", "ms")), "accepted");
  EXPECT_THAT(refusal_of("{\n\"weft\": ["), HasSubstr("t.json | not JSON: parse error at line 2"));
  EXPECT_THAT(refusal_of("{\"traceEvents\": []}"), HasSubstr("t.json | holds no timeline"));
  EXPECT_THAT(refusal_of("[1]"), HasSubstr("t.json | holds no timeline"));
  EXPECT_EQ(refusal_of(with("\"format\": 1", "\"format\": 9")),
            "t.json: weft.format | this weft reads format 1");
  EXPECT_EQ(refusal_of(with("\"unit\": \"ms\", ", "")),
            "t.json: weft.timeline | the key unit is missing");
  const std::string event = "t.json: weft.timeline.ranks[0].events[1]";
  EXPECT_THAT(refusal_of(with("0B0", "0X0")), HasSubstr(event + " | `0X0`: "));
  EXPECT_EQ(refusal_of(with("1.0, 3.0", "1.0, 0.5")), event + " | ends before it starts");
  EXPECT_EQ(refusal_of(with("1.0, 3.0", "1.0, null")), event + " | a number is expected");
  EXPECT_EQ(refusal_of(with("1.0, 3.0", "1.0, 1e300")), event + " | no time: 1e+300");
  EXPECT_EQ(refusal_of(with("1.0, 3.0", "1.0")), event + " | a list of 4 or 5 is expected");
  EXPECT_EQ(refusal_of(with("[0, \"0B0\"", "[99, \"0B0\"")), event + " | no lane: 99");
  EXPECT_EQ(refusal_of(with("0.5, 64", "0.5, \"x\"")),
            "t.json: weft.timeline.ranks[0].memory[0] | a whole number is expected");
  EXPECT_EQ(refusal_of(with("\"rank\": 0", "\"rank\": -1")),
            "t.json: weft.timeline.ranks[0].rank | no rank: -1");
}

}  // namespace
}  // namespace weft
