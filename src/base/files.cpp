#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files_apart.h"
#include "base/unfinished_file.h"

namespace weft {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int value() const { return value_; }
  // Errors of a delayed write show here.
  bool close() {
    const int result = ::close(value_);
    value_ = -1;
    return result == 0;
  }

 private:
  int value_;
};

std::string last_error() { return std::strerror(errno); }

std::string found(std::string_view flag, const std::string& path) {
  return std::string(flag) + " " + path;
}

[[noreturn]] void throw_open_error(std::string_view rule, std::string_view flag,
                                   const std::string& path) {
  const std::string reason = last_error();
  if (errno == EMFILE || errno == ENFILE || errno == ENOSPC || errno == EIO || errno == EDQUOT) {
    throw RuntimeFault("cannot open " + path + ": " + reason);
  }
  throw UserError(Violation{std::string(rule), found(flag, path), reason});
}

// Write-and-rename is for regular files and for new ones.
bool is_replaceable(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode);
}

}  // namespace

std::string read_file(const std::string& path, std::string_view flag) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) throw_open_error("file-not-readable", flag, path);
  struct stat status{};
  if (::fstat(file.value(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw UserError(
        Violation{"file-not-readable", found(flag, path), "is a directory, a file is needed"});
  }
  std::string contents;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.value(), buffer, sizeof buffer);
    if (count == 0) return contents;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw RuntimeFault("cannot read " + path + ": " + last_error());
    contents.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

void write_all(int file_descriptor, std::string_view contents, std::string_view what) {
  while (!contents.empty()) {
    const ssize_t count = ::write(file_descriptor, contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw RuntimeFault("cannot write " + std::string(what) + ": " + last_error());
    contents.remove_prefix(static_cast<std::size_t>(count));
  }
}

void write_file(const std::string& name, std::string_view contents, std::string_view flag) {
  const std::string path = behind_links(name);
  if (!is_replaceable(path)) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (file.value() < 0) throw_open_error("file-not-writable", flag, name);
    write_all(file.value(), contents, name);
    return;
  }
  UnfinishedFile part(part_name(path));
  Descriptor file(::open(part.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.value() < 0) throw_open_error("file-not-writable", flag, name);
  write_all(file.value(), contents, name);
  if (::fsync(file.value()) != 0 || !file.close() || part.keep_as(path) != 0) {
    throw RuntimeFault("cannot write " + name + ": " + last_error());
  }
}

}  // namespace weft
