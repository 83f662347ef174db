#include "estimate/units.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Units, ThreeDigits) {
  EXPECT_EQ(print_bytes(0), "0 B");
  EXPECT_EQ(print_bytes(1023), "1023 B");
  EXPECT_EQ(print_bytes(1536), "1.50 KiB");
  EXPECT_EQ(print_bytes(85899345920), "80.0 GiB");
  EXPECT_EQ(print_count(999), "999");
  EXPECT_EQ(print_count(46702792704), "46.7 G");
  EXPECT_EQ(print_count(671026404352), "671 G");
}

}  // namespace
}  // namespace weft
