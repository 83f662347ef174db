#include "train/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

namespace weft {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string reason(int error) { return std::system_category().message(error); }

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int error) {
  throw RuntimeFault(std::string(what) + " " + path.string() + ": " + reason(error));
}

[[noreturn]] void refuse(const std::string& flag, const std::filesystem::path& path,
                         const std::string& why) {
  const std::string from = flag.empty() ? "" : flag + ": ";
  throw UserError(Violation{"readable-file", from + path.string(), why});
}

void write_all(int descriptor, const char* data, std::size_t size,
               const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", path, errno);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::filesystem::path temporary(const std::filesystem::path& path) {
  return path.string() + ".tmp";
}

// Renaming onto a symbolic link would replace the link, not the file that it stands for.
std::filesystem::path behind_links(const std::filesystem::path& path) {
  return std::filesystem::is_symlink(path) ? std::filesystem::weakly_canonical(path) : path;
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, const std::string& flag)
    : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(flag, path_, "cannot be opened: " + reason(errno));
  struct stat status{};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void* address = nullptr;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (regular && size > 0) address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (!regular) refuse(flag, path_, "is not a regular file");
  if (address == MAP_FAILED) fail("cannot map", path_, error);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

struct Hasher::State {
  XXH3_state_t value;
};

Hasher::Hasher() : state_(new State) { XXH3_64bits_reset(&state_->value); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(const void* data, std::size_t size_bytes) {
  XXH3_64bits_update(&state_->value, data, size_bytes);
}

std::uint64_t Hasher::digest() const { return XXH3_64bits_digest(&state_->value); }

std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string to_hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot create", path_, errno);
  buffer_.reserve(kBufferBytes);
}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(path_.c_str());
}

void FileWriter::write(const void* data, std::size_t size) {
  hasher_.update(data, size);
  size_bytes_ += static_cast<std::int64_t>(size);
  if (buffer_.size() + size > kBufferBytes) flush();
  if (size >= kBufferBytes) {
    write_all(descriptor_, static_cast<const char*>(data), size, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), size);
  }
}

void FileWriter::flush() {
  write_all(descriptor_, buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

void FileWriter::finish() {
  flush();
  if (::fsync(descriptor_) != 0) fail("cannot sync", path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int error = errno;
    ::unlink(path_.c_str());
    fail("cannot close", path_, error);
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(behind_links(path)), writer_(temporary(path_)) {}

void AtomicFile::commit() {
  writer_.finish();
  try {
    rename_file(writer_.path(), path_);
  } catch (...) {
    ::unlink(writer_.path().c_str());
    throw;
  }
  sync_directory(path_.parent_path());
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_directory(const std::filesystem::path& path) {
  const std::filesystem::path directory = path.empty() ? "." : path;
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("cannot open directory", directory, errno);
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some network file systems cannot sync a directory and say so with EINVAL.
  if (result != 0 && error != EINVAL) fail("cannot sync directory", directory, error);
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    throw RuntimeFault("cannot rename " + from.string() + " to " + to.string() + ": " +
                       reason(error));
  }
}

}  // namespace weft
