#include "train/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files_apart.h"

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

// Access rights do not tell it: a file system may be read-only, or make no new names.
std::string why_no_name_in(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return "there is no folder " + folder.string();
  }
  std::string trial = folder / ".weft_XXXXXX";
  if (::mkdtemp(trial.data()) == nullptr) {
    return "the folder " + folder.string() + " may not be written to: " + reason(errno);
  }
  ::rmdir(trial.c_str());
  return "";
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, const std::string& flag)
    : path_(std::move(path)) {
  // A pipe would wait for a writer.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
    : path_(behind_links(path.string())),
      unfinished_(part_name(path_)),
      writer_(unfinished_.path()) {}

void AtomicFile::commit() {
  writer_.finish();
  if (unfinished_.keep_as(path_) != 0) fail("cannot rename a file to", path_, errno);
  sync_directory(std::filesystem::path(path_).parent_path());
}

std::string why_not_writable(const std::filesystem::path& path) {
  const std::filesystem::path place = behind_links(path.string());
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(place, error);
  if (std::filesystem::is_directory(status)) return "is a folder, a file is needed";
  if (std::filesystem::exists(status)) {
    return ::access(place.c_str(), W_OK) == 0 ? "" : "may not be written to";
  }
  if (error && status.type() != std::filesystem::file_type::not_found) return error.message();
  return why_no_name_in(std::filesystem::absolute(place).parent_path());
}

std::string why_no_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::absolute(path);
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) {
    if (error) return error.message();
    if (std::filesystem::is_symlink(existing, error)) {
      return existing.string() + " is a link to nothing";
    }
    existing = existing.parent_path();
  }
  if (!std::filesystem::is_directory(existing, error)) return existing.string() + " is a file";
  return why_no_name_in(existing);
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
