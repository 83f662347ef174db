// Files that are mapped to be read, and files that are either written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/unfinished_file.h"

namespace weft {

// A whole file, mapped read-only. Errors: UserError if it is not there or no regular file, with the
// flag that it comes from (`--data-path text`) if that is given.
class MappedFile {
 public:
  explicit MappedFile(std::filesystem::path path, const std::string& flag = "");
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// XXH3, 64 bits, over pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(const void* data, std::size_t size_bytes);
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t hash_bytes(std::span<const std::byte> bytes);
// 16 hexadecimal digits.
std::string to_hex(std::uint64_t value);

// Writes a new file through a buffer and hashes what passes. Throws RuntimeFault naming the file
// and the system's reason; a file that was not finished is removed.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* data, std::size_t size_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Flushes, syncs to the disk and closes; the file stays.
  void finish();

  std::int64_t size_bytes() const { return size_bytes_; }
  std::uint64_t digest() const { return hasher_.digest(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void flush();

  std::filesystem::path path_;
  std::string buffer_;
  std::int64_t size_bytes_ = 0;
  Hasher hasher_;
  int descriptor_ = -1;
};

// A file that appears under its name only when it is complete: written beside it (part_name()),
// renamed by commit(), through symbolic links. Without commit() nothing is left and an older file
// stays as it was, also when a signal ends the process.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);

  void write(const void* data, std::size_t size_bytes) { writer_.write(data, size_bytes); }
  void write(std::string_view text) { writer_.write(text); }
  FileWriter& writer() { return writer_; }
  void commit();

 private:
  std::string path_;
  UnfinishedFile unfinished_;
  FileWriter writer_;
};

// Why no file can be written there; empty if one can. A link stands for what it leads to.
std::string why_not_writable(const std::filesystem::path& path);
// Why no folder can be there, those on the way made where they are missing, or nothing put in it.
std::string why_no_folder(const std::filesystem::path& path);

void write_file_atomically(const std::filesystem::path& path, std::string_view text);
// Makes renames and new names in the directory survive a crash of the machine.
void sync_directory(const std::filesystem::path& path);
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace weft
