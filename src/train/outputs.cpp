#include "train/outputs.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "timeline/write_timelines.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Output {
  const char* flag;
  std::string path;
};

std::string found(const Output& output) { return std::string(output.flag) + " " + output.path; }

// The check* functions give why nothing can be written there; empty if it can.

std::string check_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return "there is no folder " + folder.string();
  const bool may = ::access(folder.c_str(), W_OK | X_OK) == 0;
  return may ? "" : "the folder " + folder.string() + " may not be written to";
}

std::string check_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "is a folder, a file is needed";
  if (fs::exists(status)) return ::access(path.c_str(), W_OK) == 0 ? "" : "may not be written to";
  if (error && status.type() != fs::file_type::not_found) return error.message();
  return check_folder(fs::absolute(path).parent_path());
}

// Renaming a new file into place would put a regular one where a pipe or a device was.
std::string check_replaceable_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status) && !fs::is_regular_file(status)) {
    return "is no regular file; a file or a new name is needed";
  }
  return check_file(path);
}

// Folders on the way that are not there yet are made.
std::string check_new_folder(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path);
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    if (error) return error.message();
    existing = existing.parent_path();
  }
  if (!fs::is_directory(existing, error)) return existing.string() + " is a file";
  return check_folder(existing);
}

// One name per file, however it is written.
fs::path file_identity(const std::string& path) {
  std::error_code error;
  const fs::path plain = fs::weakly_canonical(path, error);
  return error ? fs::absolute(path).lexically_normal() : plain;
}

}  // namespace

void require_writable_outputs(const TrainConfig& train) {
  std::vector<Violation> violations;
  std::map<fs::path, const char*> taken;
  const auto check = [&](const Output& output, std::string (*why_not)(const fs::path&)) {
    if (output.path.empty()) return;
    const std::string why = why_not(output.path);
    if (!why.empty()) violations.push_back({"writable-output", found(output), why});
    if (output.path == "/dev/null") return;
    const auto [other, is_new] = taken.emplace(file_identity(output.path), output.flag);
    if (is_new) return;
    violations.push_back(
        {"outputs-apart", found(output),
         std::string("is where ") + other->second + " goes too; give another name"});
  };
  check({"--save", train.save}, check_new_folder);
  check({"--metrics", train.metrics}, check_file);
  if (!train.timeline.empty()) {
    for (const std::string& path : timeline_files(train.timeline)) {
      check({"--timeline", path}, check_file);
    }
  }
  check({"--save-gradients", train.save_gradients}, check_replaceable_file);
  if (!violations.empty()) throw UserError(std::move(violations));
}

}  // namespace weft
