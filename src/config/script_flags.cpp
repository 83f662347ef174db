#include "config/script_flags.h"

namespace weft {
namespace {

constexpr VerbSet kTakenBy =
    verbs(Verb::Train, Verb::Logits, Verb::Plan, Verb::Schedule, Verb::Simulate, Verb::Layout);

Words words_of(Takes takes) {
  switch (takes) {
    case Takes::Nothing:
    case Takes::Value:
      return Words::One;
    case Takes::OneOrMore:
      return Words::OneOrMore;
    case Takes::AnyNumber:
      return Words::AnyNumber;
  }
  return Words::One;
}

Flag make_flag(const ScriptFlag& row, std::string_view heading) {
  FlagTraits traits;
  traits.status = row.status;
  traits.note = row.note;
  traits.words = words_of(row.takes);
  return {row.name, heading, kTakenBy, NoField{row.takes != Takes::Nothing, row.neutral},
          "",       traits};
}

}  // namespace

std::vector<Flag> script_flags() {
  std::vector<Flag> flags;
  for (const auto& groups : {model_script_flags(), run_script_flags()}) {
    for (const ScriptFlagGroup& group : groups) {
      for (const ScriptFlag& row : group.flags) flags.push_back(make_flag(row, group.heading));
    }
  }
  return flags;
}

}  // namespace weft
