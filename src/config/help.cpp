#include "config/help.h"

#include <algorithm>
#include <vector>

#include "base/columns.h"
#include "base/names.h"
#include "config/flag.h"

namespace weft {
namespace {

constexpr std::size_t kHelpWidth = 88;
constexpr std::size_t kIndent = 6;

std::string flag_text(const Flag& flag) {
  std::string head = "  --" + std::string(flag.name);
  if (const std::string kind = value_kind(flag); !kind.empty()) head += " " + kind;
  std::string body(flag.help);
  const std::string initial = default_text(flag);
  if (!initial.empty() && flag.traits.status == FlagStatus::Built) {
    body += (body.empty() ? "" : " ") + ("(default: " + initial) + ")";
  }
  if (!flag.traits.note.empty()) body += "; " + std::string(flag.traits.note);
  return head + "\n" + (body.empty() ? "" : indented(body, kIndent, kHelpWidth));
}

// A command of several lines, as a shell takes it.
std::string example_text(std::string_view example) {
  constexpr std::size_t kMargin = 6;
  std::string text;
  for (const std::string& line : wrap(example, kHelpWidth - kMargin)) {
    text += text.empty() ? "  " + line : " \\\n    " + line;
  }
  return text + "\n";
}

// Flags that are there for launch scripts alone: their names, by what becomes of them.
std::string script_text(Verb verb) {
  std::vector<std::string> accepted;
  std::vector<std::string> refused;
  for (const Flag& flag : flag_table()) {
    if (!is_script_flag(flag) || !contains(flag.verbs, verb)) continue;
    const FlagStatus status = flag.traits.status;
    const bool is_refused = status == FlagStatus::Refused || status == FlagStatus::NotYet;
    (is_refused ? refused : accepted).push_back("--" + std::string(flag.name));
  }
  if (accepted.empty()) return "";
  return "\nOf launch scripts of Megatron and MindSpeed (docs/from-megatron.md says why):\n"
         "  accepted\n" +
         indented(join(accepted, " "), kIndent, kHelpWidth) +
         "  refused, with what to use instead\n" +
         indented(join(refused, " "), kIndent, kHelpWidth);
}

// Headings in the order of the table.
std::vector<std::string_view> groups_of(Verb verb) {
  std::vector<std::string_view> groups;
  for (const Flag& flag : flag_table()) {
    if (!contains(flag.verbs, verb) || is_script_flag(flag)) continue;
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  return groups;
}

}  // namespace

std::string program_help() {
  std::string text =
      "weft trains Mixture-of-Experts transformers under a pipeline plan that is built, proven "
      "and\n"
      "simulated before it runs.\n\nusage: weft VERB [flags]\n\n";
  for (const VerbInfo& info : verb_table()) {
    std::string name(info.name);
    name.resize(12, ' ');
    text += "  " + name + std::string(info.help) +
            (info.not_built.empty() ? "" : " (not built yet)") + "\n";
  }
  return text +
         "\n`weft VERB --help` lists a verb's flags, `weft --version` says which weft this is.\n";
}

std::string verb_help(Verb verb) {
  const VerbInfo& info = info_of(verb);
  std::string text = "weft " + std::string(info.name) + ": " + std::string(info.help) +
                     "\n\nusage: weft " + std::string(info.name);
  if (!info.positional_name.empty()) text += " [" + std::string(info.positional_name) + "]";
  if (!info.not_built.empty()) {
    return text + " [flags]\n\n" +
           indented("Not built yet; " + std::string(info.not_built) + ".", 0, kHelpWidth);
  }
  text +=
      " [flags]\n\nA flag beats the environment (WEFT_NUM_LAYERS=8) beats the file of --config.\n";
  for (const std::string_view group : groups_of(verb)) {
    text += "\n" + std::string(group) + ":\n";
    for (const Flag& flag : flag_table()) {
      if (is_script_flag(flag)) continue;
      if (flag.group == group && contains(flag.verbs, verb)) text += flag_text(flag);
    }
  }
  text += script_text(verb);
  if (!info.examples.empty()) text += "\nExamples:\n";
  for (const std::string_view example : info.examples) {
    text += example_text(example);
  }
  return text;
}

}  // namespace weft
