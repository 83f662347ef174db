// Typed look-ups in a config.json that gather what is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/model_source.h"

namespace weft {

class ModelConfigReader {
 public:
  // Throws UserError if the text is no JSON object.
  ModelConfigReader(std::string_view json, const std::string& source);

  // Empty if the key is absent or null; of the wrong type it is a violation too.
  std::optional<std::int64_t> whole(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::vector<std::int64_t> whole_list(std::string_view key);
  // `rope_parameters` (transformers 5) or `rope_scaling` (4); null if there is neither.
  const nlohmann::json& rope() const;

  // A size of ModelExtras: 0 if absent.
  int size(std::string_view key);
  // Sets a flag from a key of the same meaning; `needed`: its absence is a violation.
  void take_whole(std::string_view flag, std::string_view key, bool needed = false);
  void take_number(std::string_view flag, std::string_view key);
  void set(std::string_view flag, std::string text, std::string_view key);
  // Says that training lacks something that the model needs.
  void lacks(std::string what) { description_.extras.untrained.push_back(std::move(what)); }
  void wrong(std::string_view key, const std::string& message);

  ModelExtras& extras() { return description_.extras; }
  // Throws UserError if anything was wrong.
  ModelDescription finish();

 private:
  const nlohmann::json* find(std::string_view key) const;
  std::string found(std::string_view key) const;

  nlohmann::json root_;
  ModelDescription description_;
  std::vector<Violation> violations_;
};

}  // namespace weft
