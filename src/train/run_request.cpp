#include "train/run_request.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/model_flags.h"
#include "train/manifest.h"
#include "train/safetensors.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kNoParameter = {"seq-length", "moe-aux-loss-coeff",
                                                          "moe-z-loss-coeff"};

bool changes_parameters(std::string_view flag) {
  for (const std::string_view name : kNoParameter) {
    if (flag == name) return false;
  }
  return true;
}

void take_model_of_checkpoint(const Request& request, Config& config) {
  const std::string& directory = config.train.load;
  std::map<std::string, std::string> saved = read_manifest(find_iteration(directory)).state.config;
  std::vector<Violation> violations;
  for (const auto& [flag, value] : model_flags(config)) {
    if (!request.given(flag)) continue;
    const auto is = saved.find(flag);
    if (!changes_parameters(flag)) {
      saved[flag] = value;
    } else if (is == saved.end() || is->second != value) {
      violations.push_back({"checkpoint-model", request.found(flag),
                            "the checkpoint in " + directory + " was trained with " +
                                (is == saved.end() ? "none" : is->second) +
                                "; leave the flag out"});
    }
  }
  const std::vector<Violation> refused = set_model_flags(saved, directory, config);
  violations.insert(violations.end(), refused.begin(), refused.end());
  if (!violations.empty()) throw UserError(std::move(violations));
}

// Of a file without a usable `tokens` nothing is taken; whoever reads it says what is wrong.
void take_sequence_length(Config& config) {
  const SafetensorsFile file(config.train.token_file);
  const auto tokens = file.entries().find("tokens");
  if (tokens == file.entries().end() || tokens->second.shape.size() != 2) return;
  config.model.seq_length = static_cast<int>(tokens->second.shape[1]);
}

}  // namespace

Config with_files(const Request& request) {
  Config config = request.config;
  if (!config.train.load.empty()) take_model_of_checkpoint(request, config);
  if (!config.train.token_file.empty() && !request.given("seq-length")) {
    take_sequence_length(config);
  }
  return config;
}

}  // namespace weft
