// The verbs of the command line: one table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class Verb {
  Train,
  Schedule,
  Simulate,
  Layout,
  Plan,
  Report,
  Logits,
  Sample,
  Data,
  Checkpoint,
};

// A set of verbs, one bit each.
using VerbSet = unsigned;

template <class... Verbs>
constexpr VerbSet verbs(Verbs... members) {
  return (0U | ... | (1U << static_cast<unsigned>(members)));
}

constexpr bool contains(VerbSet set, Verb verb) { return (set & verbs(verb)) != 0; }

struct VerbInfo {
  Verb verb;
  std::string_view name;
  std::string_view help;        // one line
  std::string_view positional;  // flag that a bare word sets; empty: none
  std::string_view positional_name;
  std::vector<std::string_view> examples;
  bool needs_torch = false;
  std::string_view not_built = "";  // why it is refused for now; empty: it is there
};

const std::vector<VerbInfo>& verb_table();
const VerbInfo& info_of(Verb verb);

// Throws UserError for a name that is not in the table, with the nearest one.
const VerbInfo& find_verb(std::string_view name);
// Throws UserError for a verb that is known but not built yet.
void require_built(const VerbInfo& info);

}  // namespace weft
