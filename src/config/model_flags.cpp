#include "config/model_flags.h"

#include <functional>

#include "config/flag.h"
#include "config/flag_text.h"

namespace weft {
namespace {

// True for a field of Config::model.
struct IsOfModel {
  Config& config;

  bool operator()(const NoField&) const { return false; }
  template <class T>
  bool operator()(FieldOf<T> field) const {
    const void* address = &field(config);
    const std::less<const void*> before;
    return !before(address, &config.model) && before(address, &config.model + 1);
  }
};

}  // namespace

std::map<std::string, std::string> model_flags(const Config& config) {
  Config copy = config;
  std::map<std::string, std::string> flags;
  for (const Flag& flag : flag_table()) {
    if (!std::visit(IsOfModel{copy}, flag.field)) continue;
    const std::string value = flag_text(flag, copy).value_or("");
    if (!value.empty()) flags[std::string(flag.name)] = value;
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
