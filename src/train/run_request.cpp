#include "train/run_request.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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

constexpr std::array<std::string_view, 5> kNeeded = {
    "num-layers", "hidden-size", "num-attention-heads", "seq-length", "vocab-size"};
constexpr auto kSplit = "split";

void take_model_of_checkpoint(const Request& request, std::map<std::string, std::string> saved,
                              Config& config) {
  const std::string& directory = config.train.load;
  std::vector<Violation> violations;
  for (const std::string_view flag : kNeeded) {
    if (saved.contains(std::string(flag))) continue;
    violations.push_back({"checkpoint-model", "--load " + directory,
                          "its manifest is damaged: it does not say --" + std::string(flag)});
  }
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

// The checkpoint's position in the data means something under its own order alone.
void take_data_order(const Request& request, const TrainState& state, Config& config,
                     std::vector<std::string>& warnings) {
  if (!request.given("seed")) config.train.seed = state.seed;
  const auto split = state.config.find(kSplit);
  if (split != state.config.end() && !request.given(kSplit)) config.train.split = split->second;
  if (config.train.data_path.empty()) return;  // a token file has one order
  const auto compare = [&](const char* flag, const std::string& is, const std::string& was) {
    if (is == was) return;
    warnings.push_back(request.found(flag) + ": the checkpoint in " + config.train.load +
                       " was trained with --" + flag + " " + was +
                       "; from here on the data come in another order, some a second time");
  };
  compare("seed", std::to_string(config.train.seed), std::to_string(state.seed));
  if (split != state.config.end()) compare(kSplit, config.train.split, split->second);
  const std::string& length = state.config.at("seq-length");
  compare("seq-length", std::to_string(config.model.seq_length), length);
}

void take_checkpoint(const Request& request, Config& config, std::vector<std::string>& warnings) {
  const TrainState state = read_manifest(find_iteration(config.train.load)).state;
  std::map<std::string, std::string> model = state.config;
  model.erase(kSplit);
  take_model_of_checkpoint(request, std::move(model), config);
  if (request.verb == Verb::Train) take_data_order(request, state, config, warnings);
}

// Of a file without a usable `tokens` nothing is taken; whoever reads it says what is wrong.
void take_sequence_length(Config& config) {
  const SafetensorsFile file(config.train.token_file);
  const auto tokens = file.entries().find("tokens");
  if (tokens == file.entries().end() || tokens->second.shape.size() != 2) return;
  config.model.seq_length = static_cast<int>(tokens->second.shape[1]);
}

}  // namespace

Config with_files(const Request& request, std::vector<std::string>& warnings) {
  Config config = request.config;
  if (!config.train.load.empty()) take_checkpoint(request, config, warnings);
  if (!config.train.token_file.empty() && !request.given("seq-length")) {
    take_sequence_length(config);
  }
  return config;
}

std::map<std::string, std::string> saved_flags(const Config& config) {
  std::map<std::string, std::string> flags = model_flags(config);
  if (!config.train.data_path.empty()) flags[kSplit] = config.train.split;
  return flags;
}

}  // namespace weft
