#include "layout/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::ElementsAre;

// Expected groups are those of Megatron's order tp-ep-dp-pp.
TEST(Mesh, FourRanksOfTwoStagesAndTwoExpertRanks) {
  const Mesh mesh{.pp_size = 2, .dp_size = 2, .ep_size = 2, .tp_size = 1};
  EXPECT_EQ(mesh.world_size(), 4);
  EXPECT_EQ(coordinates_of(mesh, Rank(3)), (Coordinates{.pp = 1, .dp = 1, .tp = 0, .ep = 1}));
  EXPECT_THAT(dp_group(mesh, Rank(0)), ElementsAre(Rank(0), Rank(1)));
  EXPECT_THAT(ep_group(mesh, Rank(3)), ElementsAre(Rank(2), Rank(3)));
  EXPECT_THAT(edp_group(mesh, Rank(3)), ElementsAre(Rank(3)));
}

TEST(Mesh, ExpertGroupsAreNeighbours) {
  const Mesh mesh{.pp_size = 2, .dp_size = 4, .ep_size = 2, .tp_size = 1};
  EXPECT_THAT(ep_group(mesh, Rank(0)), ElementsAre(Rank(0), Rank(1)));
  EXPECT_THAT(ep_group(mesh, Rank(6)), ElementsAre(Rank(6), Rank(7)));
  EXPECT_THAT(edp_group(mesh, Rank(5)), ElementsAre(Rank(5), Rank(7)));
  EXPECT_THAT(dp_group(mesh, Rank(5)), ElementsAre(Rank(4), Rank(5), Rank(6), Rank(7)));
  EXPECT_EQ(coordinates_of(mesh, Rank(6)),
            (Coordinates{.pp = 1, .dp = 2, .tp = 0, .ep = 0, .edp = 1}));
}

TEST(Mesh, TensorParallelRanksAreInnermost) {
  const Mesh mesh{.pp_size = 2, .dp_size = 2, .ep_size = 2, .tp_size = 2};
  EXPECT_THAT(dp_group(mesh, Rank(1)), ElementsAre(Rank(1), Rank(3)));
  EXPECT_THAT(ep_group(mesh, Rank(6)), ElementsAre(Rank(6), Rank(7)));
  EXPECT_THAT(edp_group(mesh, Rank(6)), ElementsAre(Rank(4), Rank(6)));
}

// A group is what its coordinates say: all ranks with the same pp and tp, and so on.
TEST(Mesh, GroupsAreTheRanksWithTheirCoordinates) {
  for (const Mesh& mesh : {Mesh{.pp_size = 3, .dp_size = 4, .ep_size = 2, .tp_size = 2},
                           Mesh{.pp_size = 2, .dp_size = 3, .ep_size = 6, .tp_size = 4},
                           Mesh{.pp_size = 1, .dp_size = 6, .ep_size = 3, .tp_size = 1}}) {
    for (int r = 0; r < mesh.world_size(); ++r) {
      const Coordinates own = coordinates_of(mesh, Rank(r));
      std::vector<Rank> dp, ep, edp;
      for (int other = 0; other < mesh.world_size(); ++other) {
        const Coordinates at = coordinates_of(mesh, Rank(other));
        if (at.pp == own.pp && at.tp == own.tp) dp.emplace_back(other);
        if (at.pp == own.pp && at.edp == own.edp) ep.emplace_back(other);
        if (at.pp == own.pp && at.ep == own.ep) edp.emplace_back(other);
      }
      EXPECT_EQ(dp_group(mesh, Rank(r)), dp);
      EXPECT_EQ(ep_group(mesh, Rank(r)), ep);
      EXPECT_EQ(edp_group(mesh, Rank(r)), edp);
    }
  }
}

TEST(Mesh, GlobalRankIsTheInverse) {
  const Mesh mesh{.pp_size = 3, .dp_size = 4, .ep_size = 4, .tp_size = 2};
  for (int r = 0; r < mesh.world_size(); ++r) {
    const Coordinates at = coordinates_of(mesh, Rank(r));
    EXPECT_EQ(global_rank_of(mesh, at.pp, at.dp, at.tp), Rank(r));
  }
}

}  // namespace
}  // namespace weft
