#include "timeline/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "timeline/events.h"

namespace weft {
namespace {

// Every kind of label, an empty rank, and doubles that need all their digits.
Timeline sample() {
  RankTimeline rank = rank_of(3, 1.0 / 3,
                              {cell("0F3", 0, 0.1), cell("(7F4;0B0)OVERLAP_F_B", 0.1, 0.3),
                               step("0F3:embedding", 0, 1e-300), step("5I1:attention.12", 1, 2),
                               step("5W1:experts.12", 2, std::numeric_limits<double>::max()),
                               step("wait(0F3:dispatch.2)", 3, 4), wire("4SEND_B7", 0.1, 0.2, 0.3),
                               wire("0REDUCE_GRAD", -0.5, 7, 8), raw_wire("0F3:counts.2", 3, 4)});
  rank.pp_rank = Rank(1);
  rank.events.push_back({Lane::Compute, parse_step("release(0F3:dispatch.2)"), 5, 5, {}});
  rank.memory = {{0.25, 123456789012345}, {0.5, -1}};
  rank.steady_start = 0.1 + 0.2;
  return {"ms", {rank, rank_of(0, 0, {})}};
}

TEST(Serialize, CborAndJsonGiveBackAnEqualTimeline) {
  EXPECT_EQ(timeline_from_cbor(timeline_to_cbor(sample()), "rank 3"), sample());
  EXPECT_EQ(timeline_from_json(timeline_to_json(sample()), "timeline.json"), sample());
}

TEST(Serialize, DamagedBytesAreRefusedByName) {
  const std::string bytes = timeline_to_cbor(sample());
  EXPECT_THROW(timeline_from_cbor(bytes.substr(0, bytes.size() / 2), "rank 3"), UserError);
  try {
    timeline_from_json(R"({"format": 1, "unit": "ms", "ranks": [{"rank": "x"}]})", "t.json");
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("t.json"));
  }
  EXPECT_THROW(timeline_from_json(R"({"format": 2, "unit": "ms", "ranks": []})", "t.json"),
               UserError);
}

}  // namespace
}  // namespace weft
