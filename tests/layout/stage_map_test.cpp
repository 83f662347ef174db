#include "layout/stage_map.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(StageMap, Looped) {
  const StageMap map{3, 2, Placement::Looped};
  const int ranks[] = {0, 1, 2, 0, 1, 2};
  const int chunks[] = {0, 0, 0, 1, 1, 1};
  for (int s = 0; s < 6; ++s) {
    EXPECT_EQ(map.rank_of(Stage(s)), Rank(ranks[s]));
    EXPECT_EQ(map.chunk_of(Stage(s)), Chunk(chunks[s]));
  }
}

TEST(StageMap, V) {
  const StageMap map{3, 2, Placement::V};
  const int ranks[] = {0, 1, 2, 2, 1, 0};
  const int chunks[] = {0, 0, 0, 1, 1, 1};
  for (int s = 0; s < 6; ++s) {
    EXPECT_EQ(map.rank_of(Stage(s)), Rank(ranks[s]));
    EXPECT_EQ(map.chunk_of(Stage(s)), Chunk(chunks[s]));
  }
  EXPECT_TRUE(map.is_local(Stage(2), Stage(3)));
  EXPECT_FALSE(map.is_local(Stage(1), Stage(2)));
}

TEST(StageMap, StageOfIsTheInverse) {
  for (int p = 1; p <= 8; ++p) {
    for (const StageMap& map : {StageMap{p, 1, Placement::Looped},
                                StageMap{p, 4, Placement::Looped}, StageMap{p, 2, Placement::V}}) {
      for (int s = 0; s < map.num_stages(); ++s) {
        EXPECT_EQ(map.stage_of(map.rank_of(Stage(s)), map.chunk_of(Stage(s))), Stage(s));
      }
    }
  }
}

}  // namespace
}  // namespace weft
