#include "base/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace weft {
namespace {

TEST(PrintDouble, KeepsAPoint) {
  EXPECT_EQ(print_double(66), "66.0");
  EXPECT_EQ(print_double(0), "0.0");
  EXPECT_EQ(print_double(-0.0), "-0.0");
  EXPECT_EQ(print_double(0.1), "0.1");
  EXPECT_EQ(print_double(0.0003), "0.0003");
  EXPECT_EQ(print_double(1e-05), "1e-05");
  EXPECT_EQ(print_double(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(print_double(std::nan("")), "nan");
}

TEST(PrintDouble, ReadsBackToTheSameBits) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const auto back = parse_double(print_double(value));
    ASSERT_TRUE(back.has_value()) << print_double(value);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value));
  }
}

TEST(PrintRounded, IsForPeople) {
  EXPECT_EQ(print_rounded(35.099999999999994), "35.1");
  EXPECT_EQ(print_rounded(317.6999999999997), "317.7");
  EXPECT_EQ(print_rounded(1485), "1485");
  EXPECT_EQ(print_rounded(1234567), "1234567");
  EXPECT_EQ(print_rounded(-2.5), "-2.5");
  EXPECT_EQ(print_rounded(2.0 / 3), "0.666667");
  EXPECT_EQ(print_rounded(2.0 / 3, 4), "0.6667");
  EXPECT_EQ(print_rounded(0.00002), "0.00002");
  EXPECT_EQ(print_rounded(1e20), "1e+20");
  EXPECT_EQ(print_rounded(7.431e-13), "7.431e-13");
  EXPECT_EQ(print_rounded(-0.0), "0");
}

TEST(ParseNumbers, TakeTheWholeText) {
  EXPECT_EQ(parse_int64("8"), 8);
  EXPECT_EQ(parse_int64("+8"), 8);
  EXPECT_EQ(parse_int64("-8"), -8);
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  for (const char* text : {"", " 8", "8 ", "8x", "+-8", "--8", "0x8", "9223372036854775808"}) {
    EXPECT_EQ(parse_int64(text), std::nullopt) << text;
  }
  for (const char* text : {"", "1.2.3", "1,5", "1e999", "+"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(Median, IsOfTheMiddle) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
}

}  // namespace
}  // namespace weft
