// A model by its name or from a Hugging Face config.json: what `--model` means.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_extras.h"
#include "config/request.h"

namespace weft {

struct DescribedValue {
  std::string text;  // as the flag would take it
  std::string key;   // of config.json that it follows from
};

struct ModelDescription {
  std::string source;                           // `mixtral-8x7b`, or the path of the file
  std::map<std::string, DescribedValue> flags;  // by name, without dashes
  ModelExtras extras;
};

struct ModelPreset {
  std::string_view name;
  std::string_view config;  // what the published config.json says
};

const std::vector<ModelPreset>& model_presets();

// Reads a config.json as transformers 4 and 5 write it, by its `model_type`: mixtral, qwen2_moe,
// qwen3_moe, olmoe, deepseek_v2, deepseek_v3, glm4_moe. Throws UserError with all that is wrong,
// naming `source` and the keys.
ModelDescription parse_model_config(std::string_view json, const std::string& source);

// A preset's name, a config.json or the folder it is in. Throws UserError as above, and for a name
// that is neither, with the nearest.
ModelDescription read_model(const std::string& name_or_path);

// If the request names a model: takes every value from it that no flag, environment or file gives,
// and remembers what was overridden. Appends what is wrong.
void take_model(Request& request, std::vector<Violation>& violations);

}  // namespace weft
