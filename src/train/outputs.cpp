#include "train/outputs.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "timeline/write_timelines.h"
#include "train/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Renaming a new file into place would put a regular one where a pipe or a device was.
std::string why_not_replaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status) && !fs::is_regular_file(status)) {
    return "is no regular file; a file or a new name is needed";
  }
  return why_not_writable(path);
}

}  // namespace

void require_writable_outputs(const TrainConfig& train) {
  std::vector<Violation> violations;
  const auto check = [&](const char* flag, const std::string& path,
                         std::string (*why_not)(const fs::path&)) {
    if (path.empty()) return;
    const std::string why = why_not(path);
    if (!why.empty()) {
      violations.push_back({"writable-output", std::string(flag) + " " + path, why});
    }
  };
  check("--save", train.save, why_no_folder);
  check("--metrics", train.metrics, why_not_writable);
  if (!train.timeline.empty()) {
    for (const std::string& path : timeline_files(train.timeline)) {
      check("--timeline", path, why_not_writable);
    }
  }
  check("--save-gradients", train.save_gradients, why_not_replaceable);
  if (!violations.empty()) throw UserError(std::move(violations));
}

}  // namespace weft
