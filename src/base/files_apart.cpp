#include "base/files_apart.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace weft {
namespace {

namespace fs = std::filesystem;

// More links in a row the system does not follow either.
constexpr int kMostLinks = 40;

struct Place {
  const NamedFile* file;
  fs::path path;  // absolute, without links and dots
  std::optional<std::pair<dev_t, ino_t>> node;
  bool is_shareable = false;
  bool has_other_names = false;
};

Place place_of(const NamedFile& file) {
  Place place{&file, {}, {}};
  struct stat status{};
  if (::stat(file.path.c_str(), &status) == 0) {
    place.node = {status.st_dev, status.st_ino};
    place.is_shareable = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    place.has_other_names = S_ISREG(status.st_mode) && status.st_nlink > 1;
  }
  std::error_code error;
  const fs::path plain = behind_links(file.path);
  place.path = fs::weakly_canonical(fs::absolute(plain, error), error);
  if (error) place.path = plain.lexically_normal();
  return place;
}

bool is_same(const Place& a, const Place& b) {
  return a.node && b.node ? a.node == b.node : a.path == b.path;
}

bool lies_in(const Place& file, const Place& folder) {
  const auto [end, rest] =
      std::mismatch(folder.path.begin(), folder.path.end(), file.path.begin(), file.path.end());
  if (end == folder.path.end() && rest != file.path.end()) return true;
  if (!file.has_other_names) return false;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder.path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_same(file, place_of({"", entry->path().string()}))) return true;
  }
  return false;
}

bool overlap(const Place& a, const Place& b) {
  return is_same(a, b) || (a.file->with_contents && lies_in(b, a)) ||
         (b.file->with_contents && lies_in(a, b));
}

std::string found(const NamedFile& file) { return file.flag + " " + file.path; }

}  // namespace

std::string behind_links(const std::string& path) {
  fs::path place = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(place, error);
    if (error) break;
    place = place.parent_path() / target;  // an absolute target stands alone
  }
  return place.string();
}

std::vector<Violation> outputs_apart(const std::vector<NamedFile>& inputs,
                                     const std::vector<NamedFile>& outputs) {
  std::vector<Place> read;
  std::vector<Place> written;
  for (const NamedFile& input : inputs) read.push_back(place_of(input));
  std::vector<Violation> violations;
  for (const NamedFile& file : outputs) {
    const Place output = place_of(file);
    if (output.is_shareable) continue;
    const auto taken = [&](const Place& other) { return overlap(output, other); };
    if (const auto at = std::ranges::find_if(read, taken); at != read.end()) {
      violations.push_back(
          {"outputs-apart", found(file),
           "would overwrite what " + at->file->flag + " names; give another name"});
    } else if (const auto other = std::ranges::find_if(written, taken); other != written.end()) {
      violations.push_back({"outputs-apart", found(file),
                            "is where " + other->file->flag + " goes too; give another name"});
    }
    written.push_back(output);
  }
  return violations;
}

}  // namespace weft
