#include "base/names.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(EditDistance, CountsChanges) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("ca", "abc"), 3);  // optimal string alignment, not Damerau's
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"schedule", "simulate", "num-layers"};
  EXPECT_EQ(nearest_name("shedule", known), "schedule");
  EXPECT_EQ(nearest_name("NUM_LAYERS", known), "num-layers");
  EXPECT_EQ(nearest_name("zzz", known), std::nullopt);
  EXPECT_EQ(nearest_name("", known), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

TEST(NearestName, FindsOtherOrdersAndLongerNames) {
  const std::vector<std::string> known = {"num-virtual-stages-per-pipeline-rank", "num-layers",
                                          "lr"};
  EXPECT_EQ(nearest_name("virtual-pipeline-stages-per-rank", known), known[0]);
  EXPECT_EQ(nearest_name("num-layerssssssssssss", known), "num-layers");
  EXPECT_EQ(nearest_name("lr-something", known), std::nullopt);
  EXPECT_EQ(nearest_name("num-pipeline", known), std::nullopt);
}

TEST(NearestName, ReadsNoMoreThanItMust) {
  EXPECT_EQ(nearest_name(std::string(1000000, 'a'), {"schedule"}), std::nullopt);
}

TEST(DidYouMean, IsEmptyWithoutANeighbour) {
  EXPECT_EQ(did_you_mean("shedule", {"schedule"}), " (did you mean schedule?)");
  EXPECT_EQ(did_you_mean("num-layer", {"num-layers"}, "--"), " (did you mean --num-layers?)");
  EXPECT_EQ(did_you_mean("zzz", {"schedule"}), "");
}

TEST(Counted, OneAndMany) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
}

}  // namespace
}  // namespace weft
