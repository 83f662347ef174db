#include "config/flag_text.h"

#include "base/numbers.h"

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

struct FieldText {
  Config& config;

  std::optional<std::string> operator()(const NoField&) const { return std::nullopt; }
  template <class T>
  std::optional<std::string> operator()(FieldOf<T> field) const {
    return text_of(field(config));
  }
};

}  // namespace

std::optional<std::string> flag_text(const Flag& flag, const Config& config) {
  Config copy = config;  // fields give out references that can be written to
  return std::visit(FieldText{copy}, flag.field);
}

}  // namespace weft
