#include "config/help.h"

#include <algorithm>
#include <vector>

#include "config/flag.h"

namespace weft {
namespace {

constexpr std::size_t kWidth = 88;
constexpr std::size_t kIndent = 6;

// Words of `text` in lines of kWidth, each line indented.
std::string wrapped(const std::string& text, std::size_t indent, const std::string& line_end = "") {
  std::string result;
  std::string line(indent, ' ');
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() > indent && line.size() + 1 + word.size() > kWidth) {
      result += line + line_end + "\n";
      line = std::string(indent + (line_end.empty() ? 0 : 2), ' ') + word;
    } else {
      line += (line.size() > indent ? " " : "") + word;
    }
    at = end + 1;
  }
  return result + line + "\n";
}

std::string flag_text(const Flag& flag) {
  std::string head = "  --" + std::string(flag.name);
  if (const std::string kind = value_kind(flag); !kind.empty()) head += " " + kind;
  std::string body(flag.help);
  const std::string initial = default_text(flag);
  if (!initial.empty() && flag.traits.status == FlagStatus::Built) {
    body += (body.empty() ? "" : " ") + ("(default: " + initial) + ")";
  }
  if (!flag.traits.note.empty()) body += "; " + std::string(flag.traits.note);
  return head + "\n" + (body.empty() ? "" : wrapped(body, kIndent));
}

// Headings in the order of the table.
std::vector<std::string_view> groups_of(Verb verb) {
  std::vector<std::string_view> groups;
  for (const Flag& flag : flag_table()) {
    if (!contains(flag.verbs, verb)) continue;
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
           wrapped("Not built yet; " + std::string(info.not_built) + ".", 0);
  }
  text +=
      " [flags]\n\nA flag beats the environment (WEFT_NUM_LAYERS=8) beats the file of --config.\n";
  for (const std::string_view group : groups_of(verb)) {
    text += "\n" + std::string(group) + ":\n";
    for (const Flag& flag : flag_table()) {
      if (flag.group == group && contains(flag.verbs, verb)) text += flag_text(flag);
    }
  }
  if (!info.examples.empty()) text += "\nExamples:\n";
  for (const std::string_view example : info.examples) {
    text += wrapped(std::string(example), 2, " \\");
  }
  return text;
}

}  // namespace weft
