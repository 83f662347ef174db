#include "config/model_flags.h"

#include <functional>
#include <optional>

#include "base/numbers.h"
#include "config/flag.h"

namespace weft {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return print_double(value); }
std::string text_of(const std::string& value) { return value; }
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "";
}

// The value of a field of Config::model; empty for any other field.
struct ModelValue {
  Config& config;

  std::optional<std::string> operator()(const NoField&) const { return std::nullopt; }
  template <class T>
  std::optional<std::string> operator()(FieldOf<T> field) const {
    const T& value = field(config);
    const void* address = &value;
    const std::less<const void*> before;
    if (before(address, &config.model) || !before(address, &config.model + 1)) return std::nullopt;
    return text_of(value);
  }
};

}  // namespace

std::map<std::string, std::string> model_flags(const Config& config) {
  Config copy = config;
  std::map<std::string, std::string> flags;
  for (const Flag& flag : flag_table()) {
    const std::optional<std::string> value = std::visit(ModelValue{copy}, flag.field);
    if (value.has_value() && !value->empty()) flags[std::string(flag.name)] = *value;
  }
  return flags;
}

std::vector<Violation> set_model_flags(const std::map<std::string, std::string>& flags,
                                       const std::string& source, Config& config) {
  std::vector<Violation> violations;
  for (const auto& [name, value] : flags) {
    const std::string found = source + ": " + name + " = " + value;
    const Flag* flag = find_flag(name);
    if (flag == nullptr) {
      violations.push_back({"unknown-flag", found, "no model of this version has it"});
    } else if (auto violation = set_flag(*flag, value, found, config)) {
      violations.push_back(*violation);
    }
  }
  return violations;
}

}  // namespace weft
