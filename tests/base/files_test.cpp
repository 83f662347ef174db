#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/unfinished_file.h"

namespace weft {
namespace {

class Files : public testing::Test {
 protected:
  Files() : folder_(testing::TempDir() + "weft_files_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator()));
  }

 private:
  std::string folder_;
};

TEST_F(Files, ReadsWhatWasWritten) {
  const std::string contents = std::string("a\0b\n", 4) + std::string(200000, 'x');
  write_file(path("a"), "old", "--output");
  write_file(path("a"), contents, "--output");
  EXPECT_EQ(read_file(path("a"), "--costs"), contents);
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, AMissingFileIsTheUsersError) {
  try {
    read_file(path("missing"), "--costs");
    FAIL();
  } catch (const UserError& error) {
    ASSERT_EQ(error.violations().size(), 1U);
    EXPECT_EQ(error.violations()[0].rule, "file-not-readable");
    EXPECT_EQ(error.violations()[0].found, "--costs " + path("missing"));
    EXPECT_EQ(error.violations()[0].message, "No such file or directory");
  }
  EXPECT_THROW(read_file(path(""), "--costs"), UserError);
}

TEST_F(Files, AMissingFolderLeavesNothing) {
  EXPECT_THROW(write_file(path("no/a"), "x", "--output"), UserError);
  EXPECT_THROW(write_file(path(""), "x", "--output"), UserError);
  EXPECT_EQ(count(), 0U);
}

TEST_F(Files, AFullDiskIsAFault) {
  EXPECT_THROW(write_file("/dev/full", "x", "--output"), RuntimeFault);
}

TEST_F(Files, WhatIsNoRegularFileIsWrittenToAsItIs) {
  EXPECT_NO_THROW(write_file("/dev/null", "x", "--output"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// A link is written through, also one to a file that is not there yet; the file stays one.
TEST_F(Files, ALinkStaysALink) {
  namespace fs = std::filesystem;
  fs::create_symlink("target", path("link"));
  for (const char* contents : {"new", "newer"}) {
    write_file(path("link"), contents, "--output");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read_file(path("target"), "--costs"), contents);
  }
  EXPECT_EQ(count(), 2U);
}

TEST_F(Files, UnfinishedOnesAreRemoved) {
  const auto start = [&](const std::string& name) { std::ofstream(path(name)) << "half"; };
  {
    UnfinishedFile dropped(path("dropped"));
    UnfinishedFile kept(path("kept"));
    start("dropped");
    start("kept");
    EXPECT_EQ(kept.keep_as(path("done")), 0);
  }
  EXPECT_TRUE(std::filesystem::exists(path("done")));
  EXPECT_EQ(count(), 1U);
  UnfinishedFile interrupted(path("interrupted"));
  start("interrupted");
  remove_unfinished_files();
  EXPECT_EQ(count(), 1U);
}

}  // namespace
}  // namespace weft
