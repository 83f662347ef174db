#include "timeline/table.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Table, ColumnsAreAsWideAsTheyNeed) {
  const Table table{"Title",
                    "A note.",
                    {"", "measured", "p"},
                    {{"step, ms", "4.5", "12.25"}, {"bubble", "100", "-"}}};
  EXPECT_EQ(print_table(table),
            "Title\n"
            "          measured      p\n"
            "step, ms       4.5  12.25\n"
            "bubble         100      -\n"
            "A note.\n");
}

// 4 + 3 * (2 + 8) = 34 characters: in 24 a block holds two of the columns of numbers.
TEST(Table, ColumnsOfNumbersThatDoNotFitStandInBlocks) {
  const Table table{"",
                    "",
                    {"rank", "dispatch", "combine", "counts"},
                    {{"0", "10.5 GiB", "12.5 GiB", "8.25 KiB"}}};
  EXPECT_EQ(print_table(table, 24),
            "rank  dispatch   combine\n"
            "0     10.5 GiB  12.5 GiB\n"
            "\n"
            "rank    counts\n"
            "0     8.25 KiB\n");
}

TEST(Table, WordsAreFoldedAtBlanks) {
  const Table table{"A title that is folded too",
                    "",
                    {"where", "size"},
                    {{"rank 0, steady: all-to-all exposed", "12.5"}, {"rank 1", "3"}}};
  EXPECT_EQ(print_table(table, 24),
            "A title that is folded\n"
            "too\n"
            "where               size\n"
            "rank 0, steady:     12.5\n"
            "all-to-all exposed\n"
            "rank 1                 3\n");
}

}  // namespace
}  // namespace weft
