#include "base/files_apart.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class FilesApart : public testing::Test {
 protected:
  FilesApart() {
    fs::create_directories(folder_ / "ckpt/iter_0000002");
    for (const char* name : {"in", "other", "ckpt/iter_0000002/manifest.json"}) {
      std::ofstream(folder_ / name) << "text";
    }
  }
  ~FilesApart() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // What is said of an output of this name beside the inputs --in and --load.
  std::vector<std::string> said_of(const std::string& name) const {
    std::vector<std::string> messages;
    for (const Violation& violation :
         outputs_apart({{"--in", path("in")}, {"--load", path("ckpt/iter_0000002"), true}},
                       {{"--out", path(name)}})) {
      messages.push_back(violation.found + ": " + violation.message);
    }
    return messages;
  }

  std::string overwrites(const std::string& name, const std::string& flag) const {
    return "--out " + path(name) + ": would overwrite what " + flag + " names; give another name";
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("weft_files_apart_" + std::to_string(getpid()));
};

TEST_F(FilesApart, OtherFilesAndNewOnesPass) {
  EXPECT_THAT(said_of("other"), IsEmpty());
  EXPECT_THAT(said_of("new"), IsEmpty());
  EXPECT_THAT(said_of("none/new"), IsEmpty());
  EXPECT_THAT(said_of("ckpt/new"), IsEmpty());
  EXPECT_THAT(said_of("ckpt/iter_0000002.txt"), IsEmpty()) << "only begins like the folder";
}

TEST_F(FilesApart, OneFileHasManyNames) {
  fs::create_symlink("in", path("link"));
  fs::create_symlink(folder_, path("folder"));
  fs::create_hard_link(path("in"), path("hard"));
  for (const char* name : {"in", "./in", "ckpt/../in", "link", "folder/in", "hard"}) {
    EXPECT_THAT(said_of(name), ElementsAre(overwrites(name, "--in")));
  }
}

TEST_F(FilesApart, WhatLiesInAFolderThatIsReadIsOfIt) {
  fs::create_symlink("ckpt", path("short"));
  fs::create_hard_link(path("ckpt/iter_0000002/manifest.json"), path("hard"));
  for (const char* name : {"ckpt/iter_0000002/manifest.json", "ckpt/iter_0000002/new",
                           "short/iter_0000002/manifest.json", "hard"}) {
    EXPECT_THAT(said_of(name), ElementsAre(overwrites(name, "--load")));
  }
}

TEST_F(FilesApart, OutputsShareNoFileEither) {
  fs::create_symlink("nowhere", path("dangling"));
  const auto violations = outputs_apart(
      {}, {{"--a", path("nowhere")}, {"--b", path("new")}, {"--c", path("dangling")}});
  EXPECT_EQ(violations, (std::vector<Violation>{{"outputs-apart", "--c " + path("dangling"),
                                                 "is where --a goes too; give another name"}}));
}

TEST_F(FilesApart, PipesAndDevicesMayBeShared) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(outputs_apart({{"--in", path("pipe")}},
                            {{"--a", path("pipe")}, {"--b", "/dev/null"}, {"--c", "/dev/null"}}),
              IsEmpty());
}

TEST_F(FilesApart, LinksLeadToFilesThatAreNotThere) {
  fs::create_symlink("nowhere", path("first"));
  fs::create_symlink("first", path("second"));
  fs::create_symlink("/absolute/nowhere", path("absolute"));
  EXPECT_EQ(behind_links(path("second")), path("nowhere"));
  EXPECT_EQ(behind_links(path("absolute")), "/absolute/nowhere");
  EXPECT_EQ(behind_links(path("in")), path("in"));
  EXPECT_EQ(behind_links("plain"), "plain");
  fs::create_symlink("loop", path("loop"));
  EXPECT_EQ(behind_links(path("loop")), path("loop"));
}

}  // namespace
}  // namespace weft
