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

}  // namespace
}  // namespace weft
