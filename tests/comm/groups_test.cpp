#include "comm/groups.h"

#include <gtest/gtest.h>

#include "comm/local.h"

namespace weft {
namespace {

std::vector<int> members(const GroupPtr& group) {
  std::vector<int> ranks;
  if (group) {
    for (const Rank rank : group->members()) ranks.push_back(rank.value);
  }
  return ranks;
}

using Ranks = std::vector<int>;

// P = 2, DP = 2, EP = 2: rank = pp * 2 + dp. A V of four stages: 0, 1, 1, 0.
TEST(Groups, OfAVWithExpertParallelRanks) {
  const Mesh mesh{2, 2, 2, 1};
  const StageMap map{2, 2, Placement::V};
  run_ranks(4, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const Groups groups = create_groups(*communicator, mesh, map);
    const Ranks same_pp = rank < 2 ? Ranks{0, 1} : Ranks{2, 3};
    const Ranks same_dp = rank % 2 == 0 ? Ranks{0, 2} : Ranks{1, 3};
    EXPECT_EQ(members(groups.world), (Ranks{0, 1, 2, 3}));
    EXPECT_EQ(members(groups.dp), same_pp);
    EXPECT_EQ(members(groups.ep), same_pp);
    EXPECT_EQ(members(groups.counts), same_pp);
    EXPECT_EQ(members(groups.edp), Ranks{rank});
    EXPECT_EQ(groups.tie, nullptr);  // one rank holds both ends
    // Edge 1, at the fold, is local.
    ASSERT_EQ(groups.edges.size(), 4U);
    for (const int edge : {0, 2}) {
      for (const Direction direction : {Direction::Forward, Direction::Backward}) {
        EXPECT_EQ(members(groups.edges.at({edge, direction})), same_dp);
      }
    }
  });
}

// P = 3, one stage each: the ends of the model are on ranks 0 and 2, the middle one has no tie.
TEST(Groups, OfALoopedPipeline) {
  const StageMap map{3, 1, Placement::Looped};
  run_ranks(3, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const Groups groups = create_groups(*communicator, Mesh{3, 1, 1, 1}, map);
    EXPECT_EQ(members(groups.tie), rank == 1 ? Ranks{} : (Ranks{0, 2}));
    EXPECT_EQ(groups.edges.size(), rank == 1 ? 4U : 2U);
    EXPECT_EQ(groups.edges.contains({0, Direction::Forward}), rank < 2);
    EXPECT_EQ(groups.edges.contains({1, Direction::Backward}), rank > 0);
  });
}

// DP = 4, EP = 2: neighbours exchange tokens, every second one holds the same experts.
TEST(Groups, OfReplicasOfExperts) {
  run_ranks(4, {}, [](int rank, const CommunicatorPtr& communicator) {
    const Groups groups = create_groups(*communicator, Mesh{1, 4, 2, 1}, StageMap{});
    EXPECT_EQ(members(groups.dp), (Ranks{0, 1, 2, 3}));
    EXPECT_EQ(members(groups.ep), rank < 2 ? (Ranks{0, 1}) : (Ranks{2, 3}));
    EXPECT_EQ(members(groups.edp), rank % 2 == 0 ? (Ranks{0, 2}) : (Ranks{1, 3}));
    EXPECT_TRUE(groups.edges.empty());
  });
}

}  // namespace
}  // namespace weft
