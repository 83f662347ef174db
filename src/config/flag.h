// What a flag is, and the one table of them (flag_table.cpp). Parsing, --help, environment, TOML
// and "did you mean" all come from the table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "config/verb.h"

namespace weft {

// The field of Config that a flag sets.
template <class T>
using FieldOf = T& (*)(Config&);

// A flag that sets nothing itself. `neutral` is the value that says what Weft does anyway
// (`--context-parallel-size 1`).
struct NoField {
  bool takes_value = false;
  std::string_view neutral = "";
};

using Field = std::variant<NoField, FieldOf<bool>, FieldOf<int>, FieldOf<std::optional<int>>,
                           FieldOf<std::int64_t>, FieldOf<double>, FieldOf<std::optional<double>>,
                           FieldOf<std::string>>;

template <auto Part, auto Member>
constexpr auto field() {
  return +[](Config& config) -> auto& { return config.*Part.*Member; };
}

// `note` says why, and where the flag is refused what to use instead.
enum class FlagStatus {
  Built,
  Same,      // Weft always does this; another value is refused
  NotYet,    // any value but the neutral or default one is refused as not built yet
  Refused,   // Weft has no such feature; any value but the neutral one is refused
  NoEffect,  // any value is accepted and changes nothing
};

// Words behind a flag that takes a value (argparse's nargs).
enum class Words {
  One,
  OneOrMore,  // joined by a blank; a flag that is built takes just one and refuses more
  AnyNumber,
};

// What giving a flag with a value means here.
enum class FlagEffect { Sets, Same, None, NotYet, Refused };

struct FlagTraits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};        // of a string; empty: any; `*.csv`: by its end
  std::vector<std::string> later_choices = {};  // known, not built yet
  std::string_view default_text = "";  // where the field's own initial value does not say it
  FlagStatus status = FlagStatus::Built;
  std::string_view note = "";
  Words words = Words::One;
  VerbSet ignored_by = 0;  // these accept it without effect
};

struct Flag {
  std::string_view name;   // without the dashes
  std::string_view group;  // heading in --help
  VerbSet verbs = 0;       // that take it
  Field field;
  std::string_view help;  // empty: of launch scripts alone
  FlagTraits traits = {};
};

const std::vector<Flag>& flag_table();
// Null if there is none. `name` without dashes, with - or _.
const Flag* find_flag(std::string_view name);
std::vector<std::string> flag_names();

bool is_switch(const Flag& flag);                // stands alone, without a value
bool is_script_flag(const Flag& flag);           // for launch scripts alone (script_flags.h)
bool is_on(const std::string& text);             // `true`, `1`, `yes`, `on`: of a switch
std::string environment_name(const Flag& flag);  // WEFT_NUM_LAYERS
std::string value_kind(const Flag& flag);        // INTEGER, NUMBER, TEXT, `a|b|c`; empty: switch
std::string default_text(const Flag& flag);      // empty if there is none

FlagEffect effect_of(const Flag& flag, const std::string& text);
// Empty unless the effect is NotYet or Refused; then what is wrong with `found`.
std::optional<Violation> refusal(const Flag& flag, const std::string& text,
                                 const std::string& found);

// Sets the flag's field from text. The violation names `found` (flag or place, and value), and what
// is allowed; the field is then unchanged.
std::optional<Violation> set_flag(const Flag& flag, const std::string& text,
                                  const std::string& found, Config& config);

}  // namespace weft
