#include "base/status_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weft {
namespace {

using std::chrono::milliseconds;

constexpr StatusLine::Clock::time_point kStart{};

TEST(StatusLine, ShowsAfterASecondTenTimesASecondAndGoes) {
  std::ostringstream out;
  {
    StatusLine line(out, true, kStart);
    line.show("1 of 9", kStart + milliseconds(999));
    line.show("2 of 9", kStart + milliseconds(1000));
    line.show("3 of 9", kStart + milliseconds(1099));
    line.show("4 of 9", kStart + milliseconds(1100));
  }
  EXPECT_EQ(out.str(), "\r\033[K2 of 9\r\033[K4 of 9\r\033[K");
}

TEST(StatusLine, WhatIsQuickLeavesNoTrace) {
  std::ostringstream out;
  { StatusLine(out, true, kStart).show("1 of 1", kStart + milliseconds(500)); }
  EXPECT_EQ(out.str(), "");
}

TEST(StatusLine, NothingOffATerminal) {
  std::ostringstream out;
  { StatusLine(out, false, kStart).show("1 of 9", kStart + milliseconds(5000)); }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace weft
