#include "timeline/merge.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "timeline/events.h"

namespace weft {
namespace {

// P = 2, DP = EP = 2: global ranks 0, 1 hold pipeline rank 0, and 2, 3 pipeline rank 1.
const Mesh kMesh{2, 2, 2, 1};

RankTimeline recorded(int rank, std::vector<Event> events) {
  RankTimeline timeline = rank_of(rank, 0, std::move(events));
  timeline.pp_rank = Rank(rank / 2);
  return timeline;
}

Event only_event(const Timeline& timeline, int rank) {
  const auto& events = timeline.ranks[static_cast<std::size_t>(rank)].events;
  EXPECT_EQ(events.size(), 1u);
  return events.at(0);
}

TEST(Merge, AnAllToAllStartsWithTheLastMemberOfItsGroup) {
  const Timeline merged = merge_timelines({recorded(1, {raw_wire("0F0:dispatch.0", 12, 20)}),
                                           recorded(0, {raw_wire("0F0:dispatch.0", 10, 19)}),
                                           recorded(2, {raw_wire("1F0:dispatch.1", 11, 15)}),
                                           recorded(3, {raw_wire("1F0:dispatch.1", 11, 16)})},
                                          kMesh, 0.0);
  EXPECT_EQ(merged.unit, "ms");
  EXPECT_EQ(only_event(merged, 0), wire("0F0:dispatch.0", 10, 12, 19));
  EXPECT_EQ(only_event(merged, 1), wire("0F0:dispatch.0", 12, 12, 20));
  EXPECT_EQ(only_event(merged, 2), wire("1F0:dispatch.1", 11, 11, 15));
  for (const RankTimeline& rank : merged.ranks) EXPECT_EQ(rank.end, 20);
}

// Replica 0 is ranks 0 and 2, replica 1 ranks 1 and 3: the same wire, not the same exchange.
TEST(Merge, AHandOverStaysWithinItsReplica) {
  const Timeline merged = merge_timelines(
      {recorded(0, {raw_wire("0SEND_F3", 5, 9)}), recorded(1, {raw_wire("0SEND_F3", 50, 60)}),
       recorded(2, {raw_wire("1RECV_F3", 1, 9.5)}), recorded(3, {raw_wire("1RECV_F3", 2, 61)})},
      kMesh, 0.0);
  EXPECT_EQ(only_event(merged, 0), wire("0SEND_F3", 5, 5, 9));
  EXPECT_EQ(only_event(merged, 2), wire("1RECV_F3", 1, 5, 9.5));
  EXPECT_EQ(only_event(merged, 3), wire("1RECV_F3", 2, 50, 61));
}

TEST(Merge, BackwardHandOver) {
  const Timeline merged = merge_timelines(
      {recorded(0, {raw_wire("0RECV_B3", 1, 9)}), recorded(2, {raw_wire("1SEND_B3", 4, 8)})}, kMesh,
      0.0);
  EXPECT_EQ(merged.ranks[0].events[0], wire("0RECV_B3", 1, 4, 9));
}

TEST(Merge, GradientsAreReducedOverReplicas) {
  const Timeline merged = merge_timelines({recorded(0, {raw_wire("0REDUCE_GRAD", 4, 9)}),
                                           recorded(1, {raw_wire("0REDUCE_GRAD", 6, 9)})},
                                          kMesh, 0.0);
  EXPECT_EQ(only_event(merged, 0), wire("0REDUCE_GRAD", 4, 6, 9));
}

// A stamp of the peer that lies after the end here: the wire was over, so it lasted no time here.
TEST(Merge, JitterNeverGivesNegativeDurations) {
  const Timeline merged = merge_timelines({recorded(0, {raw_wire("0F0:combine.0", 1, 3)}),
                                           recorded(1, {raw_wire("0F0:combine.0", 3.5, 3.25)})},
                                          kMesh, 0.0);
  EXPECT_EQ(only_event(merged, 0), wire("0F0:combine.0", 1, 3, 3));
  EXPECT_EQ(only_event(merged, 1), wire("0F0:combine.0", 3.5, 3.5, 3.5));
}

TEST(Merge, RepeatedWireIsMatchedByOccurrence) {
  const Timeline merged = merge_timelines(
      {recorded(0, {raw_wire("0F0:dispatch.0", 1, 5), raw_wire("0F0:dispatch.0", 20, 25)}),
       recorded(1, {raw_wire("0F0:dispatch.0", 2, 5), raw_wire("0F0:dispatch.0", 19, 25)})},
      kMesh, 0.0);
  EXPECT_EQ(merged.ranks[0].events[0], wire("0F0:dispatch.0", 1, 2, 5));
  EXPECT_EQ(merged.ranks[1].events[1], wire("0F0:dispatch.0", 19, 20, 25));
}

TEST(Merge, TimesCountFromTheFirstEvent) {
  RankTimeline first = recorded(0, {step("0F0:attention.0", 1000, 1002)});
  first.memory = {{1001, 64}};
  first.steady_start = 1000;
  first.steady_end = 1002;
  first.end = 1010;
  const Timeline merged =
      merge_timelines({first, recorded(1, {step("0F0:attention.0", 1001, 1004)})}, kMesh);
  EXPECT_EQ(merged.ranks[0].events[0], step("0F0:attention.0", 0, 2));
  EXPECT_EQ(merged.ranks[1].events[0], step("0F0:attention.0", 1, 4));
  EXPECT_EQ(merged.ranks[0].memory, (std::vector<MemorySample>{{1, 64}}));
  EXPECT_EQ(merged.ranks[0].steady_end, 2);
  EXPECT_EQ(merged.ranks[1].end, 10);
}

TEST(Merge, ARankOutsideTheMeshIsOurFault) {
  EXPECT_THROW(merge_timelines({recorded(4, {})}, kMesh), InternalError);
}

}  // namespace
}  // namespace weft
