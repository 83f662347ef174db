#include "config/value_sources.h"

#include "config/flag.h"
#include "config/flag_text.h"

namespace weft {
namespace {

std::string origin_name(SourceKind kind) {
  switch (kind) {
    case SourceKind::CommandLine:
      return "flag";
    case SourceKind::Environment:
      return "environment";
    case SourceKind::File:
      return "file";
    case SourceKind::Model:
      return "model";
  }
  return "flag";
}

}  // namespace

std::vector<ValueSource> value_sources(const Request& request, const Config& resolved) {
  const Config defaults;
  std::vector<ValueSource> values;
  for (const Flag& flag : flag_table()) {
    if (!contains(flag.verbs, request.verb)) continue;
    const std::string name(flag.name);
    const std::string text = flag_text(flag, resolved).value_or("");
    if (const auto given = request.sources.find(name); given != request.sources.end()) {
      const Source& source = given->second;
      values.push_back({name, text.empty() ? source.text : text, origin_name(source.kind),
                        source.place, source.overrides});
    } else if (!text.empty()) {
      const bool is_default = text == flag_text(flag, defaults);
      values.push_back({name, text, is_default ? "default" : "derived", "", ""});
    }
  }
  return values;
}

}  // namespace weft
