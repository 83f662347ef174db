// A full disk: a small tmpfs in a mount namespace of the test's own, which ends with it.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "faults/workplace.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

void write_text(const char* path, const std::string& text) { std::ofstream(path) << text; }

// As root, or with a user namespace in which one is.
bool enter_mount_namespace() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", "0 " + user + " 1");
  write_text("/proc/self/gid_map", "0 " + group + " 1");
  return true;
}

class FullDisk : public Workplace {
 protected:
  void SetUp() override {
    if (!enter_mount_namespace()) {
      GTEST_SKIP() << "no mount namespace to be had: " << std::strerror(errno);
    }
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  }

  void TearDown() override {
    if (is_mounted_) ::umount2(path("disk").c_str(), MNT_DETACH);
  }

  void make_disk(const std::string& size) {
    fs::create_directory(path("disk"));
    const std::string options = "size=" + size;
    ASSERT_EQ(::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, options.c_str()), 0)
        << std::strerror(errno);
    is_mounted_ = true;
  }

  void fill_disk() {
    std::ofstream file(path("disk/filler"), std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), 4096).flush()) {
    }
  }

  // The one message names `file` and says what is wrong.
  static void expect_full(const Ending& ending, const std::string& file) {
    EXPECT_EQ(ending.exit_code, 1);
    EXPECT_FALSE(ending.left_processes);
    EXPECT_EQ(ending.out, "");
    ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
    EXPECT_THAT(ending.errors()[0], HasSubstr(file));
    EXPECT_THAT(ending.errors()[0], HasSubstr("No space left on device"));
    std::cout << ending.errors()[0] << "\n";
  }

  const Words two_ranks_ = {"--pipeline-model-parallel-size=2", "--num-microbatches=2"};

 private:
  bool is_mounted_ = false;
};

TEST_F(FullDisk, ForACheckpointLeavesTheOlderOnes) {
  make_disk("3m");
  const Ending ending =
      run_to_end(train(two_ranks_ + Words{"--train-iters=20", "--save", path("disk/ckpt"),
                                          "--save-interval=1", "--metrics", path("m")}));
  expect_full(ending, path("disk/ckpt"));
  int step = 0;
  std::ifstream(path("disk/ckpt/latest_checkpointed_iteration.txt")) >> step;
  EXPECT_GE(step, 1);
  for (const fs::directory_entry& entry : fs::directory_iterator(path("disk/ckpt"))) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
  const std::vector<LoggedStep> steps = read_metrics(path("m"));
  ASSERT_THAT(steps, SizeIs(step + 1)) << "the step whose save failed is the last";
  const Ending resumed =
      run_to_end(train(two_ranks_ + Words{"--train-iters=" + std::to_string(step + 1), "--load",
                                          path("disk/ckpt"), "--metrics", path("resumed")}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_metrics(path("resumed")), std::vector<LoggedStep>{steps.back()});
}

TEST_F(FullDisk, ForMetrics) {
  make_disk("64k");
  fill_disk();
  expect_full(
      run_to_end(train(two_ranks_ + Words{"--train-iters=3", "--metrics", path("disk/m.jsonl")})),
      path("disk/m.jsonl"));
}

TEST_F(FullDisk, ForTheTimeline) {
  make_disk("64k");
  fill_disk();
  expect_full(
      run_to_end(train(two_ranks_ + Words{"--train-iters=1", "--timeline", path("disk/t.json")})),
      path("disk/t.json"));
  for (const fs::directory_entry& entry : fs::directory_iterator(path("disk"))) {
    EXPECT_EQ(entry.path().filename(), "filler");
  }
}

}  // namespace
}  // namespace weft
