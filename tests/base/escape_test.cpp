#include "base/escape.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Escaped, LeavesTextAndLineEndsAsTheyAre) {
  EXPECT_EQ(escaped("0F0, \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\nnext"),
            "0F0, \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\nnext");
}

TEST(Escaped, WhatATerminalWouldActOn) {
  EXPECT_EQ(escaped("\x1b[31mred\r\t\x7f\a"), "\\x1b[31mred\\x0d\\x09\\x7f\\x07");
  // U+009B is the control sequence introducer in one character.
  EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b");
}

// Tables 3-6 and 3-7 of the Unicode standard: overlong forms, surrogates, beyond U+10FFFF, cut off.
TEST(Escaped, WhatIsNoUtf8) {
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(escaped("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escaped("a\xe2\x82"), "a\\xe2\\x82");
  EXPECT_EQ(escaped("\x9b\xff"), "\\x9b\\xff");
}

}  // namespace
}  // namespace weft
