#include "train/run_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "config/flag.h"
#include "config/flag_text.h"
#include "costs/costs_toml.h"
#include "schedule/csv.h"
#include "train/files.h"
#include "train/manifest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kOfOneRank = {"metrics", "timeline", "local-ranks"};

std::string digest_of(std::string_view text) {
  return to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

// Size, first and last MiB; empty if it is no file that can be read.
std::string digest_of_file(const fs::path& path) {
  constexpr std::uintmax_t kPart = 1 << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::string text = std::to_string(size) + " ";
  for (const std::uintmax_t from : {std::uintmax_t{0}, size - std::min(size, kPart)}) {
    std::string part(std::min(size, kPart), '\0');
    file.seekg(static_cast<std::streamoff>(from));
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text += part;
  }
  return error || !file ? "" : digest_of(text);
}

std::string digest_of_data(const std::string& prefix) {
  const std::string index = digest_of_file(prefix + ".idx");
  const std::string tokens = digest_of_file(prefix + ".bin");
  return index.empty() || tokens.empty() ? "" : index + tokens;
}

// Of what a flag stands for; empty where that is its value.
std::string digest_behind(std::string_view flag, const Config& config, const RunPlan& plan) {
  const TrainConfig& train = config.train;
  if (flag == "schedules-method") return digest_of(print_csv(plan.schedule));
  if (flag == "costs" && !train.costs.empty()) return digest_of(print_costs(plan.costs));
  if (flag == "load" && !train.load.empty()) {
    return digest_of_file(find_iteration(train.load) / kManifestName);
  }
  if (flag == "token-file" && !train.token_file.empty()) return digest_of_file(train.token_file);
  if (flag == "data-path" && !train.data_path.empty()) return digest_of_data(train.data_path);
  return "";
}

}  // namespace

std::vector<SharedSetting> run_settings(const Request& request, const Config& config,
                                        const RunPlan& plan) {
  std::vector<SharedSetting> settings = {
      {"WORLD_SIZE", std::to_string(plan.mesh.world_size()), "", true}};
  for (const Flag& flag : flag_table()) {
    if (!contains(flag.verbs, Verb::Train)) continue;
    if (std::ranges::find(kOfOneRank, flag.name) != kOfOneRank.end()) continue;
    const std::optional<std::string> value = flag_text(flag, config);
    if (!value) continue;
    settings.push_back({"--" + std::string(flag.name), *value,
                        digest_behind(flag.name, config, plan), request.given(flag.name)});
  }
  return settings;
}

}  // namespace weft
