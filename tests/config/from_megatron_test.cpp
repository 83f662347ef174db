#include "config/from_megatron.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

namespace weft {
namespace {

constexpr auto kPage = WEFT_DOCS "/from-megatron.md";

// With WEFT_TEST_WRITE set (target from_megatron_page) the page is written.
TEST(FromMegatron, ThePageIsUpToDate) {
  if (std::getenv("WEFT_TEST_WRITE") != nullptr)
    write_file(kPage, from_megatron_page(), "the page");
  EXPECT_EQ(read_file(kPage, "the page"), from_megatron_page())
      << "cmake --build build --target from_megatron_page";
}

}  // namespace
}  // namespace weft
