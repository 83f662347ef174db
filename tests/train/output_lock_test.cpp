#include "train/output_lock.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputLockTest : public testing::Test {
 protected:
  OutputLockTest() { fs::create_directories(folder_); }
  ~OutputLockTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  static std::string refusal(const std::string& folder) {
    try {
      const OutputLock lock(folder);
    } catch (const UserError& error) {
      return error.violations().at(0).rule + ": " + error.violations().at(0).message;
    }
    return "none";
  }

 private:
  std::string folder_ = testing::TempDir() + "weft_lock_" + std::to_string(getpid());
};

TEST_F(OutputLockTest, IsHeldByOneAtATime) {
  {
    const OutputLock lock(path("a"));
    EXPECT_THAT(refusal(path("a")),
                HasSubstr("output-in-use: another run is writing there (process " +
                          std::to_string(getpid()) + " on host "));
    EXPECT_EQ(refusal(path("b")), "none");
  }
  EXPECT_EQ(refusal(path("a")), "none");
}

TEST_F(OutputLockTest, LeavesNothingWhereNothingWasWritten) {
  { const OutputLock lock(path("a/b/")); }
  EXPECT_FALSE(fs::exists(path("a")));
  fs::create_directory(path("c"));
  { const OutputLock lock(path("c")); }
  EXPECT_TRUE(fs::is_empty(path("c")));
  {
    const OutputLock lock(path("d/e"));
    std::ofstream(path("d/e/file")) << "kept";
  }
  EXPECT_TRUE(fs::exists(path("d/e/file")));
}

TEST_F(OutputLockTest, GoesWithItsProcess) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const OutputLock lock(path("a"));
    [[maybe_unused]] const ssize_t written = ::write(ends[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_THAT(refusal(path("a")), HasSubstr("process " + std::to_string(process)));
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(refusal(path("a")), "none");
}

TEST_F(OutputLockTest, APlaceThatCannotBeHadIsTheUsersError) {
  std::ofstream(path("file")) << "text";
  EXPECT_THAT(refusal(path("file/below")), HasSubstr("writable-output: the folder cannot be made"));
  EXPECT_THAT(refusal("/proc/weft"), HasSubstr("writable-output: "));
}

}  // namespace
}  // namespace weft
