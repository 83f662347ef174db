#include "config/model_config_reader.h"

#include <utility>

#include "base/numbers.h"
#include "config/flag.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxSize = 1 << 24;

}  // namespace

ModelConfigReader::ModelConfigReader(std::string_view text, const std::string& source) {
  description_.source = source;
  try {
    root_ = json::parse(text);
  } catch (const json::parse_error& error) {
    throw UserError(
        Violation{"model-config", source + ": byte " + std::to_string(error.byte),
                  "this is no JSON: a config.json of a Hugging Face model is expected"});
  }
  if (root_.is_object()) return;
  throw UserError(
      Violation{"model-config", source, "a JSON object is expected, as config.json holds"});
}

const json* ModelConfigReader::find(std::string_view key) const {
  const auto at = root_.find(key);
  return at == root_.end() || at->is_null() ? nullptr : &*at;
}

std::string ModelConfigReader::found(std::string_view key) const {
  const std::string place = description_.source + ": " + std::string(key);
  const json* value = find(key);
  return value == nullptr
             ? place
             : place + " = " + value->dump(-1, ' ', false, json::error_handler_t::replace);
}

void ModelConfigReader::wrong(std::string_view key, const std::string& message) {
  violations_.push_back({"model-config", found(key), message});
}

std::optional<std::int64_t> ModelConfigReader::whole(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() ||
                     value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (fits) return value->get<std::int64_t>();
  wrong(key, "a whole number is expected");
  return std::nullopt;
}

std::optional<double> ModelConfigReader::number(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  wrong(key, "a number is expected");
  return std::nullopt;
}

std::optional<bool> ModelConfigReader::boolean(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  wrong(key, "true or false is expected");
  return std::nullopt;
}

std::optional<std::string> ModelConfigReader::text(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  wrong(key, "a text is expected");
  return std::nullopt;
}

std::vector<std::int64_t> ModelConfigReader::whole_list(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::int64_t> list;
  bool whole = value->is_array();
  for (std::size_t i = 0; whole && i < value->size(); ++i) {
    whole = (*value)[i].is_number_integer();
    if (whole) list.push_back((*value)[i].get<std::int64_t>());
  }
  if (!whole) wrong(key, "a list of whole numbers is expected");
  return list;
}

const json& ModelConfigReader::rope() const {
  static const json kNone;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const json* value = find(key);
    if (value != nullptr && value->is_object()) return *value;
  }
  return kNone;
}

int ModelConfigReader::size(std::string_view key) {
  const std::int64_t value = whole(key).value_or(0);
  if (value >= 0 && value <= kMaxSize) return static_cast<int>(value);
  wrong(key, "a size from 0 to " + std::to_string(kMaxSize) + " is expected");
  return 0;
}

void ModelConfigReader::take_whole(std::string_view flag, std::string_view key, bool needed) {
  if (const auto value = whole(key)) {
    set(flag, std::to_string(*value), key);
  } else if (needed && find(key) == nullptr) {
    wrong(key, "missing: the model is not known without it");
  }
}

void ModelConfigReader::take_number(std::string_view flag, std::string_view key) {
  if (const auto value = number(key)) set(flag, print_double(*value), key);
}

void ModelConfigReader::set(std::string_view flag, std::string text, std::string_view key) {
  description_.flags[std::string(flag)] = {std::move(text), std::string(key)};
}

ModelDescription ModelConfigReader::finish() {
  // Beside others a value that its flag refuses is named here; alone where the flag is set.
  Config scratch;
  for (const auto& [name, value] : description_.flags) {
    if (violations_.empty()) break;
    const std::string place = description_.source + ": " + value.key + " = " + value.text;
    auto refused = set_flag(*find_flag(name), value.text, place, scratch);
    if (refused) violations_.push_back(std::move(*refused));
  }
  if (!violations_.empty()) throw UserError(std::move(violations_));
  return std::move(description_);
}

}  // namespace weft
