#include "config/flag.h"

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/numbers.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<std::string> kTrue = {"true", "1", "yes", "on"};
const std::vector<std::string> kFalse = {"false", "0", "no", "off"};

// `0`, `0.5`, and `below 1` for 0.999999999.
std::string print_bound(double bound) {
  if (bound == std::floor(bound)) return std::to_string(static_cast<std::int64_t>(bound));
  constexpr double kJust = 1e-8;
  const double above = std::ceil(bound);
  return above - bound < kJust ? "below " + print_bound(above) : print_double(bound);
}

std::string allowed_numbers(const FlagTraits& traits, bool whole) {
  const std::string kind = whole ? "a whole number" : "a number";
  if (traits.min > -kInfinity && traits.max < kInfinity) {
    return kind + " from " + print_bound(traits.min) + " to " + print_bound(traits.max);
  }
  if (traits.min > -kInfinity) return kind + " of at least " + print_bound(traits.min);
  if (traits.max < kInfinity) return kind + " of at most " + print_bound(traits.max);
  return kind;
}

// A choice is a value as it is, or with a leading * the end of one (`*.csv`).
bool is_one_of(const std::vector<std::string>& choices, const std::string& text) {
  return std::ranges::any_of(choices, [&](const std::string& choice) {
    return choice.starts_with('*') ? text.ends_with(choice.substr(1)) : text == choice;
  });
}

// Sets one field; the message is empty if the text is allowed.
class Setter {
 public:
  Setter(const Flag& flag, const std::string& text, Config& config)
      : flag_(flag), text_(text), config_(config) {}

  std::string operator()(const NoField& none) const {
    return none.takes_value || is_switch_word() ? "" : kSwitchWords;
  }

  std::string operator()(FieldOf<bool> field) const {
    if (!is_switch_word()) return kSwitchWords;
    field(config_) = is_one_of(kTrue, text_);
    return "";
  }

  std::string operator()(FieldOf<std::string> field) const {
    const std::vector<std::string>& choices = flag_.traits.choices;
    if (!choices.empty() && !is_one_of(choices, text_)) return no_such_choice();
    field(config_) = text_;
    return "";
  }

  template <class T>
  std::string operator()(FieldOf<T> field) const {
    using Number =
        std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>,
                           double, std::int64_t>;
    constexpr bool kWhole = std::is_same_v<Number, std::int64_t>;
    constexpr bool kWide = std::is_same_v<T, std::int64_t>;
    std::optional<Number> number;
    if constexpr (kWhole) {
      number = parse_int64(text_);
    } else {
      number = parse_double(text_);
    }
    const bool fits = number.has_value() && std::isfinite(static_cast<double>(*number)) &&
                      static_cast<double>(*number) >= flag_.traits.min &&
                      static_cast<double>(*number) <= flag_.traits.max &&
                      (!kWhole || kWide ||
                       (*number >= std::numeric_limits<int>::min() &&
                        *number <= std::numeric_limits<int>::max()));
    if (!fits) return allowed_numbers(flag_.traits, kWhole) + " is allowed";
    if constexpr (kWhole && !kWide) {
      field(config_) = static_cast<int>(*number);
    } else {
      field(config_) = *number;
    }
    return "";
  }

 private:
  static constexpr auto kSwitchWords = "true or false is allowed";

  bool is_switch_word() const { return is_one_of(kTrue, text_) || is_one_of(kFalse, text_); }

  std::string no_such_choice() const {
    if (is_one_of(flag_.traits.later_choices, text_)) {
      return "known but not built yet; built so far: " + join(flag_.traits.choices);
    }
    std::vector<std::string> known = flag_.traits.choices;
    known.insert(known.end(), flag_.traits.later_choices.begin(), flag_.traits.later_choices.end());
    return "allowed: " + join(flag_.traits.choices) + did_you_mean(text_, known);
  }

  const Flag& flag_;
  const std::string& text_;
  Config& config_;
};

struct KindName {
  std::string operator()(const NoField& none) const { return none.takes_value ? "VALUE" : ""; }
  std::string operator()(FieldOf<bool>) const { return ""; }
  std::string operator()(FieldOf<int>) const { return "INTEGER"; }
  std::string operator()(FieldOf<std::optional<int>>) const { return "INTEGER"; }
  std::string operator()(FieldOf<std::int64_t>) const { return "INTEGER"; }
  std::string operator()(FieldOf<double>) const { return "NUMBER"; }
  std::string operator()(FieldOf<std::optional<double>>) const { return "NUMBER"; }
  std::string operator()(FieldOf<std::string>) const { return "TEXT"; }
};

struct DefaultText {
  Config& config;

  std::string operator()(const NoField& none) const { return std::string(none.neutral); }
  std::string operator()(FieldOf<bool>) const { return ""; }
  std::string operator()(FieldOf<int> field) const { return std::to_string(field(config)); }
  std::string operator()(FieldOf<std::optional<int>> field) const {
    return field(config).has_value() ? std::to_string(*field(config)) : "";
  }
  std::string operator()(FieldOf<std::int64_t> field) const {
    return std::to_string(field(config));
  }
  std::string operator()(FieldOf<double> field) const { return print_double(field(config)); }
  std::string operator()(FieldOf<std::optional<double>> field) const {
    return field(config).has_value() ? print_double(*field(config)) : "";
  }
  std::string operator()(FieldOf<std::string> field) const { return field(config); }
};

// `0` and `0.0` are equal.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<double> x = parse_double(a);
  return x.has_value() && x == parse_double(b);
}

// The flag asks for what Weft does without it.
bool asks_nothing(const Flag& flag, const std::string& text) {
  if (is_switch(flag)) return is_one_of(kFalse, text) != (flag.traits.status == FlagStatus::Same);
  const std::string neutral = default_text(flag);
  if (!neutral.empty()) return same_value(text, neutral);
  return flag.traits.status == FlagStatus::NotYet && same_value(text, "0");
}

}  // namespace

const Flag* find_flag(std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '_', '-');
  for (const Flag& flag : flag_table()) {
    if (flag.name == wanted) return &flag;
  }
  return nullptr;
}

std::vector<std::string> flag_names() {
  std::vector<std::string> names;
  for (const Flag& flag : flag_table()) names.emplace_back(flag.name);
  return names;
}

bool is_switch(const Flag& flag) { return value_kind(flag).empty(); }

bool is_script_flag(const Flag& flag) { return flag.help.empty(); }

bool is_on(const std::string& text) { return is_one_of(kTrue, text); }

std::string environment_name(const Flag& flag) {
  std::string name = "WEFT_";
  for (const char c : flag.name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string value_kind(const Flag& flag) {
  if (!flag.traits.choices.empty()) return join(flag.traits.choices, "|");
  return std::visit(KindName{}, flag.field);
}

std::string default_text(const Flag& flag) {
  if (!flag.traits.default_text.empty()) return std::string(flag.traits.default_text);
  Config config;
  return std::visit(DefaultText{config}, flag.field);
}

FlagEffect effect_of(const Flag& flag, const std::string& text) {
  switch (flag.traits.status) {
    case FlagStatus::Built:
      return FlagEffect::Sets;
    case FlagStatus::NoEffect:
      return FlagEffect::None;
    case FlagStatus::NotYet:
      return asks_nothing(flag, text) ? FlagEffect::Same : FlagEffect::NotYet;
    case FlagStatus::Same:
    case FlagStatus::Refused:
      return asks_nothing(flag, text) ? FlagEffect::Same : FlagEffect::Refused;
  }
  return FlagEffect::Sets;
}

std::optional<Violation> refusal(const Flag& flag, const std::string& text,
                                 const std::string& found) {
  const FlagEffect effect = effect_of(flag, text);
  const std::string note(flag.traits.note);
  if (effect == FlagEffect::NotYet) {
    return Violation{"not-built-yet", found, "this flag is known but not built yet; " + note};
  }
  if (effect != FlagEffect::Refused) return std::nullopt;
  const std::string neutral = default_text(flag);
  const std::string instead =
      neutral.empty() ? "" : "; give " + neutral + ", or leave the flag out";
  return Violation{std::string(flag.name), found, note + instead};
}

std::optional<Violation> set_flag(const Flag& flag, const std::string& text,
                                  const std::string& found, Config& config) {
  const std::string message = std::visit(Setter(flag, text, config), flag.field);
  if (message.empty()) return std::nullopt;
  const bool later = is_one_of(flag.traits.later_choices, text);
  return Violation{later ? "not-built-yet" : "flag-value", found, message};
}

}  // namespace weft
