#include "base/unfinished_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// A handler may neither lock nor allocate. A process writes two files at once at most.
struct Slot {
  std::atomic<bool> is_taken{false};
  std::atomic<bool> is_set{false};
  char path[PATH_MAX] = {};
};
std::array<Slot, 8> slots;

int take_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].is_taken.exchange(true)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].is_set = true;
    return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::string part_name(const std::string& path) {
  return path + ".part" + std::to_string(::getpid());
}

UnfinishedFile::UnfinishedFile(std::string path)
    : path_(std::move(path)), slot_(take_slot(path_)) {}

UnfinishedFile::~UnfinishedFile() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  forget();
}

int UnfinishedFile::keep_as(const std::string& to) {
  if (std::rename(path_.c_str(), to.c_str()) != 0) return -1;
  forget();
  path_.clear();
  return 0;
}

void UnfinishedFile::forget() {
  if (slot_ < 0) return;
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.is_set = false;
  slot.is_taken = false;
}

void remove_unfinished_files() {
  for (Slot& slot : slots) {
    if (slot.is_set) ::unlink(slot.path);
  }
}

}  // namespace weft
