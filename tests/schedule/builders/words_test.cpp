#include "schedule/builders/words.h"

#include <gtest/gtest.h>

#include "schedule/csv.h"

namespace weft {
namespace {

TEST(KeepMicroBatches, APairThatLosesAHalfBecomesSingle) {
  const Schedule whole = parse_csv(
      "0F0,0F1,(0F2;0B0)OVERLAP_F_B,(0F1;0B2)OVERLAP_F_B,(0F3;0B2)OVERLAP_F_B,0I3,0W3\n", "whole");
  const Schedule kept = keep_micro_batches(whole, 2);
  EXPECT_EQ(print_csv(kept), "0F0,0F1,0B0,0F1\n");
  EXPECT_EQ(kept.num_micro_batches, 2);
  EXPECT_EQ(kept.map, whole.map);
}

}  // namespace
}  // namespace weft
