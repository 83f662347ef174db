// One run at a time writes to a folder of checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

// Holds --save for as long as it lives, by a lock on a file in it, which the system takes from a
// process that dies. The folder is made if it is not there, and goes again with the lock if nothing
// was written to it. A file system without locks gets a warning.
class OutputLock {
 public:
  // `folder` empty: nothing to hold. Throws UserError if another run holds it or it cannot be made.
  explicit OutputLock(const std::string& folder);
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  void make_folder();
  [[noreturn]] void refuse(const std::string& rule, const std::string& message) const;
  bool take();  // false if the file's last holder has removed it meanwhile

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> made_;  // innermost first
  int descriptor_ = -1;
};

}  // namespace weft
