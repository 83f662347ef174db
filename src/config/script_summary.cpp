#include "config/script_summary.h"

#include <map>
#include <utility>

#include "base/columns.h"
#include "base/names.h"
#include "config/flag.h"

namespace weft {
namespace {

constexpr auto kRead = "Read as another flag";
constexpr auto kTheSame = "The same here";
constexpr auto kNoEffect = "Accepted, without effect";
constexpr auto kRefused = "Refused";

struct Meaning {
  std::string_view heading;  // empty: the flag sets what its name says
  std::string reason;
};

Meaning meaning_of(const Flag& flag, const std::string& text, Verb verb) {
  const std::string note(flag.traits.note);
  if (contains(flag.traits.ignored_by, verb)) return {kNoEffect, "`weft data prepare` takes it"};
  switch (effect_of(flag, text)) {
    case FlagEffect::Sets:
      return {std::holds_alternative<NoField>(flag.field) && !note.empty() ? kRead : "", note};
    case FlagEffect::Same:
      return {kTheSame, flag.traits.status == FlagStatus::Same ? note : "as without the flag"};
    case FlagEffect::None:
      return {kNoEffect, note};
    case FlagEffect::NotYet:
      return {kRefused, "not built yet; " + note};
    case FlagEffect::Refused:
      return {kRefused, note};
  }
  return {};
}

}  // namespace

std::vector<ScriptFlags> script_flags_of(const Request& request) {
  std::map<std::string_view, std::map<std::string, std::vector<std::string>>> found;
  for (const auto& [name, source] : request.sources) {
    const Flag* flag = find_flag(name);
    if (flag == nullptr || source.kind == SourceKind::Model) continue;
    const auto [heading, reason] = meaning_of(*flag, source.text, request.verb);
    if (!heading.empty()) found[heading][reason].push_back(request.found(name));
  }
  std::vector<ScriptFlags> summary;
  for (const std::string_view heading : {kRead, kTheSame, kNoEffect, kRefused}) {
    for (const auto& [reason, flags] : found[heading]) {
      summary.push_back({std::string(heading), join(flags), reason});
    }
  }
  return summary;
}

std::string print_script_flags(const std::vector<ScriptFlags>& summary, std::size_t width) {
  std::string text;
  std::string_view heading;
  for (const ScriptFlags& part : summary) {
    if (part.heading != heading) text += (text.empty() ? "" : "\n") + part.heading + ":\n";
    heading = part.heading;
    text += indented(part.flags, 2, width) + indented(part.reason, 6, width);
  }
  return text;
}

}  // namespace weft
