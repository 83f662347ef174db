// Directories, disks and errors for the tests of train/.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"

namespace weft::testing {

namespace fs = std::filesystem;

class TempDir {
 public:
  TempDir() {
    std::string pattern = (fs::temp_directory_path() / "weft_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw RuntimeFault("no temporary directory");
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const fs::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// A disk of its own of `size_bytes`.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t size_bytes) {
    const std::string options = "size=" + std::to_string(size_bytes);
    mounted_ = ::mount("tmpfs", mount_point_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
    error_ = mounted_ ? 0 : errno;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(mount_point_.path().c_str(), MNT_DETACH);
  }

  bool mounted() const { return mounted_; }
  int error() const { return error_; }
  std::string file(const std::string& name) const { return mount_point_.file(name); }
  const fs::path& path() const { return mount_point_.path(); }

 private:
  TempDir mount_point_;
  bool mounted_ = false;
  int error_ = 0;
};

// Skips where mounting is not for this user; fails where it should work and does not.
#define WEFT_NEEDS_DISK(disk)                                               \
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root"; \
  ASSERT_TRUE((disk).mounted()) << "cannot mount a tmpfs: " << std::strerror((disk).error())

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The message of the error that `action` throws.
template <class Error = UserError, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace weft::testing
