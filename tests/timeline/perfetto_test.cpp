#include "timeline/perfetto.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "timeline/events.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// Two messages under way at once on rank 1, and a wait in two parts; bytes are known of rank 0
// alone.
Timeline sample() {
  RankTimeline first = rank_of(0, 12,
                               {step("0F0:attention.0", 0, 2), wire("0SEND_F0", 2, 4, 7),
                                step("0F1:attention.0", 2, 5), wire("0SEND_F1", 5, 5, 8)});
  first.memory = {{2, 1024}};
  return {"ms",
          {first, rank_of(1, 12,
                          {step("wait(1RECV_F0)", 1, 7), wire("1RECV_F0", 1, 4, 7),
                           wire("1RECV_F1", 1, 5, 8), step("1F0:attention.1", 7, 9)})}};
}

std::vector<Json> events_of(const Timeline& timeline, const std::string& phase) {
  const Json trace = Json::parse(print_perfetto(timeline));
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

Json slice(const std::string& name) {
  for (const Json& event : events_of(sample(), "X")) {
    if (event.at("name") == name) return event;
  }
  return nullptr;
}

TEST(Perfetto, ProcessesAndTracksHaveNames) {
  std::vector<std::string> names;
  for (const Json& event : events_of(sample(), "M")) {
    const Json& args = event.at("args");
    if (args.contains("name")) names.push_back(args.at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0", "compute", "P2P forward", "P2P forward 2",
                                             "rank 1", "compute", "P2P forward", "P2P forward 2"}));
}

TEST(Perfetto, TimesAreMicroseconds) {
  const Json event = slice("1F0:attention.1");
  EXPECT_EQ(event.at("ts"), 7000.0);
  EXPECT_EQ(event.at("dur"), 2000.0);
  EXPECT_EQ(event.at("pid"), 1);
  EXPECT_EQ(event.at("cat"), "forward");
}

TEST(Perfetto, AWaitIsSplitWhereItsWireGotUnderWay) {
  EXPECT_EQ(slice("bubble: 1RECV_F0").at("ts"), 1000.0);
  EXPECT_EQ(slice("bubble: 1RECV_F0").at("dur"), 3000.0);
  EXPECT_EQ(slice("exposed: 1RECV_F0").at("ts"), 4000.0);
  EXPECT_EQ(slice("exposed: 1RECV_F0").at("dur"), 3000.0);
}

TEST(Perfetto, SlicesOfATrackDoNotOverlap) {
  std::map<std::pair<int, int>, double> free;
  for (const Json& event : events_of(sample(), "X")) {
    double& at = free[{event.at("pid"), event.at("tid")}];
    EXPECT_GE(event.at("ts").get<double>(), at) << event.dump();
    at = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
}

TEST(Perfetto, ArrowsJoinSendAndReceive) {
  const auto starts = events_of(sample(), "s");
  const auto ends = events_of(sample(), "f");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(starts[i].at("id"), ends[i].at("id"));
    EXPECT_EQ(starts[i].at("pid"), 0);
    EXPECT_EQ(ends[i].at("pid"), 1);
  }
}

TEST(Perfetto, MemoryIsACounter) {
  const auto counters = events_of(sample(), "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].at("name"), "activation bytes");
  EXPECT_EQ(counters[0].at("args"), Json::parse(R"({"bytes": 1024})"));
  EXPECT_EQ(counters[1].at("name"), "live chunks");
  EXPECT_EQ(counters[1].at("args"), Json::parse(R"({"chunks": 1})"));
  EXPECT_EQ(counters[1].at("ts"), 7000.0);
}

}  // namespace
}  // namespace weft
