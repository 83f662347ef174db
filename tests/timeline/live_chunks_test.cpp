#include "timeline/live_chunks.h"

#include <gtest/gtest.h>

#include "timeline/events.h"

namespace weft {
namespace {

using Samples = std::vector<LiveSample>;

// At 2 one chunk goes as another comes: the end counts first.
TEST(LiveChunks, FromTheStartOfFToTheEndOfB) {
  const RankTimeline rank = rank_of(0, 9,
                                    {cell("0F0", 0, 1), cell("0B0", 1, 2), cell("0F1", 2, 3),
                                     cell("0F2", 4, 5), cell("0B1", 5, 7), cell("0B2", 7, 9)});
  EXPECT_EQ(live_chunks(rank), (Samples{{0, 1}, {2, 1}, {4, 2}, {7, 1}, {9, 0}}));
}

TEST(LiveChunks, ASplitBackwardEndsWithItsInputGradient) {
  const RankTimeline rank =
      rank_of(0, 9, {cell("0F0", 0, 1), cell("0I0", 1, 2), cell("0W0", 5, 6)});
  EXPECT_EQ(live_chunks(rank), (Samples{{0, 1}, {2, 0}}));
}

TEST(LiveChunks, APairBeginsOneAndEndsAnother) {
  const RankTimeline rank =
      rank_of(0, 9, {cell("0F0", 0, 1), cell("(0F1;0B0)OVERLAP_F_B", 1, 4), cell("0B1", 4, 6)});
  EXPECT_EQ(live_chunks(rank), (Samples{{0, 1}, {1, 2}, {4, 1}, {6, 0}}));
}

// An embedding alone has no dgrad: it is live until its W.
TEST(LiveChunks, OfStepsFromTheFirstForwardToTheLastDgrad) {
  const RankTimeline rank =
      rank_of(0, 20,
              {step("0F0:embedding", 0, 1), step("1F0:attention.0", 1, 2), step("1F0:mlp.0", 2, 3),
               step("1I0:mlp.0", 4, 5), step("1I0:attention.0", 5, 6),
               step("1W0:attention.0", 7, 8), step("0W0:embedding", 9, 10)});
  EXPECT_EQ(live_chunks(rank), (Samples{{0, 1}, {1, 2}, {6, 1}, {10, 0}}));
}

}  // namespace
}  // namespace weft
