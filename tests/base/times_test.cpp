#include "base/times.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(PrintTime, ChoosesTheUnit) {
  EXPECT_EQ(print_time(35.099999999999994, "ms"), "35.1 ms");
  EXPECT_EQ(print_time(0.25, "ms"), "250 us");
  EXPECT_EQ(print_time(1500, "ms"), "1.5 s");
  EXPECT_EQ(print_time(119, "s"), "119 s");
  EXPECT_EQ(print_time(150, "s"), "2.5 min");
  EXPECT_EQ(print_time(14100, "s"), "3.91667 h");
  EXPECT_EQ(print_time(1, "h"), "60 min");
  EXPECT_EQ(print_time(0, "ms"), "0 ms");
}

TEST(PrintTime, LeavesOtherUnits) {
  EXPECT_EQ(print_time(317.6999999999997, "units"), "317.7 units");
  EXPECT_EQ(print_time(1485, "units"), "1485 units");
}

TEST(TimeScale, OneUnitForAll) {
  const TimeScale scale = time_scale(6595000, "ms");
  EXPECT_EQ(scale.unit, "min");
  EXPECT_EQ(scale.text(6595000), "109.9");
  EXPECT_EQ(scale.text(6000), "0.1");
  EXPECT_EQ(scale.text(0), "0");
  EXPECT_EQ(scale.text(3), "<0.0001");
  EXPECT_EQ(scale.text(1e-6), "0");
}

}  // namespace
}  // namespace weft
