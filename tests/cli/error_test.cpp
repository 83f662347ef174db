// Refused command lines: each file of tests/error holds the words of one behind `$ weft`, and below
// it the standard error that it must give, with exit code 2 and nothing on standard output.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cli/run_weft.h"

namespace weft {
namespace {

std::vector<std::string> case_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_ERROR_CASES)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class RefusedCommandLine : public testing::TestWithParam<std::string> {};

TEST_P(RefusedCommandLine, SaysWhy) {
  const std::string folder = WEFT_ERROR_CASES;
  const std::string text = slurp(folder + "/" + GetParam() + ".txt");
  const std::string marker = "$ weft ";
  ASSERT_TRUE(text.starts_with(marker));
  const std::size_t line_end = text.find('\n');
  const std::string words = text.substr(marker.size(), line_end - marker.size());
  const WeftRun run = run_weft(words, folder);
  EXPECT_EQ(run.err, text.substr(line_end + 1));
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.exit_code, 2);
}

INSTANTIATE_TEST_SUITE_P(Cases, RefusedCommandLine, testing::ValuesIn(case_files()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weft
