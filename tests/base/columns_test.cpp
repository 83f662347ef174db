#include "base/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;

TEST(Wrap, FillsLinesAndKeepsLongWords) {
  EXPECT_THAT(wrap("a bb ccc dddd", 5), ElementsAre("a bb", "ccc", "dddd"));
  EXPECT_THAT(wrap("--a-long-word b", 5), ElementsAre("--a-long-word", "b"));
  EXPECT_THAT(wrap("  a  b ", 5), ElementsAre("a b"));
  EXPECT_THAT(wrap("", 5), ElementsAre(""));
}

TEST(Indented, PutsBlanksBeforeEachLine) {
  EXPECT_EQ(indented("a bb ccc", 2, 6), "  a bb\n  ccc\n");
}

TEST(PrintColumns, WrapsCellsAndEndsLinesWithoutBlanks) {
  EXPECT_EQ(print_columns({{"name", "what it is", "x"}, {"b", "", "y z"}}, {4, 5, 1}),
            "name  what   x\n"
            "      it is\n"
            "b            y\n"
            "             z\n");
}

}  // namespace
}  // namespace weft
