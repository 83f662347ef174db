// Files that must not outlive what writes them unless it is done.
#pragma once

#include <string>

namespace weft {

// A name beside `path` that no other process uses; a later process may take it over.
std::string part_name(const std::string& path);

// Removes the file when it goes, or when a signal ends the process (remove_unfinished_files),
// unless it was kept before.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  // Renames it to `to`, where it stays. Returns 0, or -1 and errno.
  int keep_as(const std::string& to);
  const std::string& path() const { return path_; }

 private:
  void forget();

  std::string path_;
  int slot_ = -1;
};

// For handlers of signals that end the process: async-signal-safe.
void remove_unfinished_files();

}  // namespace weft
