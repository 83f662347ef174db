#include "train/manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "train/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kVersion = 1;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw UserError(Violation{"checkpoint", path.string(), why});
}

std::string digest_of(const std::string& text) {
  return to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

std::string read_text(const fs::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// JSON's own conversion would round 2.5 and take -5.
std::int64_t count_at(const fs::path& path, const json& object, const char* key) {
  const json& value = object.at(key);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= INT64_MAX) {
    return value.get<std::int64_t>();
  }
  refuse(path, "is damaged: " + std::string(key) + " = " + value.dump() +
                   ", a whole number of at least 0 is expected");
}

Manifest from_json(const fs::path& path, const json& body) {
  if (body.at("version") != kVersion) {
    refuse(path, "version " + body.at("version").dump() + ", version 1 is read");
  }
  Manifest manifest;
  manifest.state.step = count_at(path, body, "step");
  manifest.state.consumed_rows = count_at(path, body, "consumed_rows");
  if (!body.at("seed").is_number_integer()) refuse(path, "is damaged: seed is no whole number");
  manifest.state.seed = body.at("seed").get<std::int64_t>();
  manifest.state.config = body.at("config").get<std::map<std::string, std::string>>();
  manifest.optimizer_steps = count_at(path, body, "optimizer_steps");
  for (const json& file : body.at("files")) {
    manifest.files.push_back({file.at("name").get<std::string>(),
                              count_at(path, file, "size_bytes"),
                              file.at("xxh3").get<std::string>()});
    const std::string& name = manifest.files.back().name;
    if (name.empty() || fs::path(name).filename() != name) {
      refuse(path, "file " + name + " is not in this directory");
    }
  }
  return manifest;
}

bool is_valid(const fs::path& iteration) {
  try {
    const Manifest manifest = read_manifest(iteration);
    return std::all_of(manifest.files.begin(), manifest.files.end(),
                       [&](const auto& file) { return check_file(iteration, file).empty(); });
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

std::string print_manifest(const Manifest& manifest) {
  json files = json::array();
  for (const CheckpointFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"size_bytes", file.size_bytes}, {"xxh3", file.digest}});
  }
  const json body = {{"version", kVersion},
                     {"step", manifest.state.step},
                     {"consumed_rows", manifest.state.consumed_rows},
                     {"seed", manifest.state.seed},
                     {"config", manifest.state.config},
                     {"optimizer_steps", manifest.optimizer_steps},
                     {"files", files}};
  return json{{"body", body}, {"xxh3", digest_of(body.dump())}}.dump(1) + "\n";
}

Manifest read_manifest(const fs::path& iteration) {
  const fs::path path = iteration / kManifestName;
  try {
    const json manifest = json::parse(read_text(path));
    const json& body = manifest.at("body");
    if (manifest.at("xxh3") != digest_of(body.dump())) {
      refuse(path, "is damaged: it does not have the checksum that it names");
    }
    return from_json(path, body);
  } catch (const json::exception& error) {
    refuse(path, std::string("is damaged: ") + error.what());
  }
}

std::string check_file(const fs::path& iteration, const CheckpointFile& file) {
  const fs::path path = iteration / file.name;
  try {
    const MappedFile mapped(path);
    const auto size = static_cast<std::int64_t>(mapped.bytes().size());
    if (size != file.size_bytes) {
      return path.string() + " has " + std::to_string(size) + " bytes, the manifest says " +
             std::to_string(file.size_bytes);
    }
    const std::string digest = to_hex(hash_bytes(mapped.bytes()));
    if (digest == file.digest) return "";
    return path.string() + " has checksum " + digest + ", the manifest says " + file.digest;
  } catch (const UserError& error) {
    return error.what();
  }
}

fs::path iteration_directory(const fs::path& directory, std::int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "iter_%07lld", static_cast<long long>(step));
  return directory / name;
}

std::vector<std::int64_t> list_iterations(const fs::path& directory) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with("iter_")) continue;
    if (const auto step = parse_number(std::string_view(name).substr(5))) steps.push_back(*step);
  }
  return steps;
}

fs::path find_iteration(const fs::path& directory) {
  std::error_code failure;
  if (!fs::is_directory(directory, failure)) {
    const bool is_unknown = failure && failure != std::errc::no_such_file_or_directory;
    refuse("--load " + directory.string(), is_unknown ? "cannot be read: " + failure.message()
                                                      : "takes a directory; there is none");
  }
  if (fs::exists(directory / kManifestName, failure)) return directory;
  if (failure) refuse("--load " + directory.string(), "cannot be read: " + failure.message());
  const fs::path tracker = directory / kTrackerName;
  if (!fs::exists(tracker, failure)) {
    if (fs::exists(directory / "config.json", failure)) {
      refuse(directory, "a Hugging Face folder; loading one is not built yet");
    }
    refuse(tracker, "is not there; " + nearest_valid_iteration(directory, INT64_MAX));
  }
  std::string text = read_text(tracker);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto step = parse_number(text);
  if (!step) {
    refuse(tracker, "holds no number; " + nearest_valid_iteration(directory, INT64_MAX));
  }
  const fs::path iteration = iteration_directory(directory, *step);
  try {
    read_manifest(iteration);
  } catch (const UserError& error) {
    std::vector<Violation> violations = error.violations();
    violations.back().message += "; " + nearest_valid_iteration(directory, *step);
    throw UserError(std::move(violations));
  }
  return iteration;
}

std::string nearest_valid_iteration(const fs::path& directory, std::int64_t step) {
  std::vector<std::int64_t> steps = list_iterations(directory);
  std::sort(steps.begin(), steps.end(), [&](std::int64_t a, std::int64_t b) {
    return std::make_pair(std::abs(step - a), -a) < std::make_pair(std::abs(step - b), -b);
  });
  for (const std::int64_t candidate : steps) {
    const fs::path iteration = iteration_directory(directory, candidate);
    if (!is_valid(iteration)) continue;
    return "the nearest valid iteration is " + std::to_string(candidate) + ": --load " +
           iteration.string();
  }
  return "no iteration in " + directory.string() + " is valid";
}

}  // namespace weft
