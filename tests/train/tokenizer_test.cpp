#include "train/tokenizer.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(Tokenizer, EveryByteComesBack) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  EXPECT_EQ(encode_bytes(bytes)[255], 255);
  EXPECT_EQ(decode_bytes(encode_bytes(bytes)), bytes);
}

TEST(Tokenizer, EndsOfDocumentsHaveNoText) {
  EXPECT_EQ(decode_bytes({'a', kEndOfDocument, 'b'}), "a<256>b");
}

TEST(Printable, Utf8StaysWhatATerminalCannotShowIsEscaped) {
  EXPECT_EQ(printable("def f():\n\tpass"), "def f():\n\tpass");
  EXPECT_EQ(printable("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\x1B[2J\r\x7F"), "\\x1B[2J\\x0D\\x7F");
  EXPECT_EQ(printable("a\xFF\x80z"), "a\\xFF\\x80z");
  EXPECT_EQ(printable("\xE2\x82"), "\\xE2\\x82");           // cut off
  EXPECT_EQ(printable("\xC0\xAF"), "\\xC0\\xAF");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xC2\\x9B");  // a control character of C1
}

}  // namespace
}  // namespace weft
