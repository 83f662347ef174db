// The part of TOML that configuration and cost files use: tables, and keys with a string, an integer,
// a float, a boolean or an array of these. Strict: whatever else stands in a file is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A value as text. A string without its quotes and escapes, a number or boolean as written (without
// _ between digits), an array as `[a,b]`.
struct TomlEntry {
  std::vector<std::string> table;  // {"stage", "3"} under [stage.3]; dotted keys likewise
  std::string key;
  std::string value;
  bool is_string = false;
  int line = 0;  // from 1

  bool operator==(const TomlEntry&) const = default;
};

// Entries in the order of the file. `path` is for messages only. Throws UserError (rule
// "toml-syntax") naming file, line and what is wrong, also for a key that is given twice.
std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& path);

}  // namespace weft
