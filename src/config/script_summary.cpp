#include "config/script_summary.h"

#include <map>
#include <utility>

#include "base/columns.h"
#include "base/names.h"
#include "config/flag.h"

namespace weft {
namespace {

constexpr std::size_t kSummaryWidth = 88;

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

std::string script_summary(const Request& request) {
  std::map<std::string_view, std::map<std::string, std::vector<std::string>>> found;
  for (const auto& [name, source] : request.sources) {
    const Flag* flag = find_flag(name);
    if (flag == nullptr || source.kind == SourceKind::Model) continue;
    const auto [heading, reason] = meaning_of(*flag, source.text, request.verb);
    if (!heading.empty()) found[heading][reason].push_back(request.found(name));
  }
  std::string text;
  for (const std::string_view heading : {kRead, kTheSame, kNoEffect, kRefused}) {
    const auto part = found.find(heading);
    if (part == found.end()) continue;
    text += (text.empty() ? "" : "\n") + std::string(heading) + ":\n";
    for (const auto& [reason, flags] : part->second) {
      text += indented(join(flags), 2, kSummaryWidth) + indented(reason, 6, kSummaryWidth);
    }
  }
  return text;
}

}  // namespace weft
