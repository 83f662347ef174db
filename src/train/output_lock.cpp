#include "train/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".weft-lock";

// " (process 4711 on host a)", as the holder has written it; it may be just about to.
std::string holder_text(int descriptor) {
  char text[320];
  const ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  return length > 0 ? " (" + std::string(text, static_cast<std::size_t>(length)) + ")" : "";
}

void write_own_text(int descriptor) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string text = "process " + std::to_string(::getpid()) + " on host " + host;
  if (::ftruncate(descriptor, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(descriptor, text.data(), text.size(), 0);
}

struct File {
  explicit File(int opened) : descriptor(opened) {}
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor;
};

// Whether the open file still has its name.
bool is_named(int descriptor, const fs::path& path) {
  struct stat open = {}, named = {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

OutputLock::OutputLock(const std::string& folder) {
  if (folder.empty()) return;
  folder_ = fs::absolute(folder);
  try {
    make_folder();
    while (!take()) {
    }
  } catch (...) {
    for (const fs::path& made : made_) ::rmdir(made.c_str());
    throw;
  }
}

OutputLock::~OutputLock() {
  if (descriptor_ < 0) return;
  ::unlink((folder_ / kLockName).c_str());
  ::close(descriptor_);
  for (const fs::path& made : made_) ::rmdir(made.c_str());  // that are empty
}

void OutputLock::make_folder() {
  std::error_code error;
  for (fs::path path = folder_; !fs::exists(path, error) && path.has_relative_path();
       path = path.parent_path()) {
    if (path.has_filename()) made_.push_back(path);
  }
  fs::create_directories(folder_, error);
  if (error) refuse("writable-output", "the folder cannot be made: " + error.message());
}

void OutputLock::refuse(const std::string& rule, const std::string& message) const {
  throw UserError(Violation{rule, "--save " + folder_.string(), message});
}

bool OutputLock::take() {
  const fs::path path = folder_ / kLockName;
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  // What another user's run has left when it was killed can be locked all the same.
  if (file.descriptor < 0 && errno == EACCES) {
    file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (file.descriptor < 0) {
    refuse("writable-output", std::string(kLockName) + " cannot be made there: " +
                                  std::system_category().message(errno));
  }
  if (::flock(file.descriptor, LOCK_EX | LOCK_NB) == 0) {
    if (!is_named(file.descriptor, path)) return false;
    write_own_text(file.descriptor);
  } else if (errno == EWOULDBLOCK) {
    refuse("output-in-use", "another run is writing there" + holder_text(file.descriptor) +
                                "; wait for its end, or give another folder");
  } else {
    log_warning("--save " + folder_.string() + " cannot be locked (" +
                std::system_category().message(errno) +
                "): nothing keeps a second run from writing there too");
  }
  descriptor_ = std::exchange(file.descriptor, -1);
  return true;
}

}  // namespace weft
