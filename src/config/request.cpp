#include "config/request.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>

#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "config/aliases.h"
#include "config/flag.h"

extern char** environ;

namespace weft {
namespace {

std::string dashed(std::string_view name) { return "--" + std::string(name); }

std::string place_and_value(const Source& source) {
  switch (source.kind) {
    case SourceKind::CommandLine:
      return source.text == "true" ? source.place : source.place + " " + source.text;
    case SourceKind::Environment:
      return source.place + "=" + source.text;
    case SourceKind::File:
    case SourceKind::Model:
      return source.place + " = " + source.text;
  }
  return source.place;
}

// Gathers values from the three sources into one request.
class RequestReader {
 public:
  RequestReader(Verb verb, std::vector<Violation>& violations) : violations_(violations) {
    request_.verb = verb;
  }

  void read_command_line(const std::vector<std::string>& arguments);
  void read_environment(const EnvironmentVariables& environment);
  void read_file(const std::string& path);
  std::string config_file() const;
  void give_up() { request_.incomplete = true; }
  Request finish();

 private:
  using Results = std::map<std::string, std::vector<std::string>>;

  std::vector<std::string> split_values(const std::vector<std::string>& arguments);
  void refuse_unknown(const std::vector<std::string>& extras);
  void add_unknown(const std::string& rule, const std::string& found, const std::string& message,
                   const std::string& name);
  void take(const Flag& flag, Source source);
  void apply(const Flag& flag, const Source& source);
  void read_key(const std::string& key, const toml::node& value, const std::string& path);

  Request request_;
  std::vector<Violation>& violations_;
};

void RequestReader::add_unknown(const std::string& rule, const std::string& found,
                                const std::string& message, const std::string& name) {
  violations_.push_back({rule, found, message});
  // What was probably meant is not reported as missing on top.
  const std::optional<std::string> meant = nearest_name(name, flag_names());
  if (meant.has_value()) request_.broken.insert(*meant);
}

// The flag that `--name` or `--name=value` names, with - or _; null if there is none.
const Flag* named_flag(const std::string& argument) {
  return argument.starts_with("--") ? find_flag(argument.substr(2, argument.find('=') - 2))
                                    : nullptr;
}

// As argparse has it: a word with a dash before it is a flag unless it is a number or has a blank.
bool is_flag_word(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word.find(' ') == std::string::npos &&
         !parse_double(word).has_value();
}

// Words from `first` that stand before the next flag.
std::size_t count_values(const std::vector<std::string>& arguments, std::size_t first) {
  const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(first);
  return static_cast<std::size_t>(std::find_if(at, arguments.end(), is_flag_word) - at);
}

// Every flag under its own name, and its value as the argument behind it, so that an empty value
// stays a value. Flags with too few or too many values are refused here, so that what follows them
// is still read.
std::vector<std::string> RequestReader::split_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> split;
  const auto refuse = [this](const Flag& flag, const std::string& found, const char* message) {
    violations_.push_back({"flag-value", found, message});
    request_.broken.insert(std::string(flag.name));
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const Flag* flag = named_flag(argument);
    if (flag == nullptr) {
      split.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    if (is_switch(*flag)) {
      split.push_back(dashed(flag->name) +
                      (equals == std::string::npos ? "" : argument.substr(equals)));
      continue;
    }
    const Words words = flag->traits.words;
    std::vector<std::string> values;
    if (equals != std::string::npos) {
      values.push_back(argument.substr(equals + 1));
    } else {
      const std::size_t most = words == Words::One ? 1 : arguments.size();
      const std::size_t count = std::min(count_values(arguments, i + 1), most);
      const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i + 1);
      values.assign(first, first + static_cast<std::ptrdiff_t>(count));
      i += count;
    }
    const bool is_built = flag->traits.status == FlagStatus::Built;
    if (values.empty() && (words != Words::AnyNumber || is_built)) {
      refuse(*flag, argument, "a value is expected behind this flag");
    } else if (values.size() > 1 && is_built) {
      refuse(*flag, argument + " " + join(values, " "), "one value is allowed here, not several");
    } else {
      split.push_back(dashed(flag->name));
      split.push_back(join(values, " "));
    }
  }
  return split;
}

void RequestReader::refuse_unknown(const std::vector<std::string>& extras) {
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const std::string& extra = extras[i];
    if (!is_flag_word(extra)) {
      violations_.push_back({"unknown-argument", extra, "no bare word is expected here"});
      continue;
    }
    const std::string name =
        extra.substr(0, extra.find('=')).substr(extra.starts_with("--") ? 2 : 1);
    add_unknown("unknown-flag", extra,
                "no such flag" + did_you_mean(name, flag_names(), "--") + "; `weft " +
                    std::string(info_of(request_.verb).name) + " --help` lists them",
                name);
    // The words behind an unknown flag are its values.
    if (extra.find('=') == std::string::npos) i += count_values(extras, i + 1);
  }
}

void RequestReader::read_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.allow_windows_style_options(false);
  app.add_flag("-h,--help", request_.help);
  Results results;
  for (const Flag& flag : flag_table()) {
    const std::string name(flag.name);
    const auto keep = [&results, name](const CLI::results_t& values) {
      results[name] = values;
      return true;
    };
    CLI::Option* option = app.add_option(dashed(flag.name), keep);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->type_size(1);
    option->expected(is_switch(flag) ? 0 : 1);
  }
  std::vector<std::string> words;
  const VerbInfo& info = info_of(request_.verb);
  if (!info.positional.empty()) {
    app.add_option(std::string(info.positional_name), words)->expected(0, 1);
  }
  try {
    std::vector<std::string> reversed = split_values(arguments);
    std::ranges::reverse(reversed);
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    violations_.push_back({"flag-value", arguments.empty() ? "" : arguments.back(), error.what()});
  }
  refuse_unknown(app.remaining());
  if (!words.empty()) results[std::string(info.positional)].push_back(words.front());
  for (const auto& [name, values] : results) {
    const Flag& flag = *find_flag(name);
    // Scripts put together from parts do repeat themselves.
    const bool differ = std::ranges::any_of(
        values, [&first = values[0]](const std::string& value) { return value != first; });
    if (differ) {
      violations_.push_back({"flag-given-twice", dashed(name) + " " + join(values, ", "),
                             "given more than once with values that differ: leave one"});
      request_.broken.insert(name);
      continue;
    }
    if (!contains(flag.verbs | flag.traits.ignored_by, request_.verb)) {
      violations_.push_back({"flag-of-another-verb", dashed(name),
                             "`weft " + std::string(info.name) + "` does not take this flag"});
      continue;
    }
    take(flag, {SourceKind::CommandLine, dashed(name), values.front()});
  }
}

// Variables that are no flags: of the launcher (comm/rendezvous.h), for debugging, of the tests.
constexpr auto kLauncherVariable = "WEFT_LAUNCHER_PIPE";

bool is_no_flag(const std::string& variable) {
  return variable == kLauncherVariable || variable == "WEFT_DUMP_PASSES" ||
         variable.starts_with("WEFT_TEST_");
}

void RequestReader::read_environment(const EnvironmentVariables& environment) {
  std::vector<std::string> names;
  for (const Flag& flag : flag_table()) names.push_back(environment_name(flag));
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("WEFT_") || value.empty() || is_no_flag(name)) continue;
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) {
      take(flag_table().at(static_cast<std::size_t>(at - names.begin())),
           {SourceKind::Environment, name, value});
      continue;
    }
    // Ranks that were started here leave it to the process that started them.
    if (environment.contains(kLauncherVariable)) continue;
    const std::optional<std::string> meant = nearest_name(name.substr(5), flag_names());
    request_.warnings.push_back(
        "environment: " + name + " is no flag and is passed over" +
        (meant.has_value() ? " (did you mean " + environment_name(*find_flag(*meant)) + "?)" : ""));
  }
}

std::string array_text(const toml::array& array) {
  std::string text = "[";
  for (const toml::node& element : array) {
    if (text.size() > 1) text += ",";
    std::ostringstream stream;
    if (const auto* word = element.as_string()) {
      stream << word->get();
    } else {
      element.visit([&stream](const auto& value) { stream << value; });
    }
    text += stream.str();
  }
  return text + "]";
}

void RequestReader::read_key(const std::string& key, const toml::node& value,
                             const std::string& path) {
  const std::string place = path + ":" + std::to_string(value.source().begin.line) + ": " + key;
  if (value.is_table()) {
    violations_.push_back(
        {"unknown-key", place, "no table is expected; keys are names of flags, at the top"});
    return;
  }
  const Flag* flag = find_flag(key);
  if (flag != nullptr && flag->name == "config") {
    violations_.push_back(
        {"unknown-key", place, "a file cannot name another; give it by --config"});
    return;
  }
  if (flag == nullptr) {
    add_unknown("unknown-key", place, "no such flag" + did_you_mean(key, flag_names()), key);
    return;
  }
  std::string text;
  if (const auto* word = value.as_string()) {
    text = word->get();
  } else if (const auto* whole = value.as_integer()) {
    text = std::to_string(whole->get());
  } else if (const auto* real = value.as_floating_point()) {
    text = print_double(real->get());
  } else if (const auto* boolean = value.as_boolean()) {
    text = boolean->get() ? "true" : "false";
  } else if (const auto* array = value.as_array()) {
    text = array_text(*array);
  } else {
    violations_.push_back({"flag-value", place, "a number, string, boolean or list is expected"});
    request_.broken.insert(std::string(flag->name));
    return;
  }
  if (const auto before = request_.sources.find(flag->name);
      before != request_.sources.end() && before->second.kind == SourceKind::File) {
    violations_.push_back({"flag-given-twice", place, "already set at " + before->second.place});
    request_.broken.insert(std::string(flag->name));
    return;
  }
  take(*flag, {SourceKind::File, place, text});
}

void RequestReader::read_file(const std::string& path) {
  const std::string contents = weft::read_file(path, "--config");
  try {
    const toml::table table = toml::parse(contents, path);
    for (const auto& [key, value] : table) read_key(std::string(key.str()), value, path);
  } catch (const toml::parse_error& error) {
    throw UserError(Violation{"toml-syntax", path + ":" + std::to_string(error.source().begin.line),
                              std::string(error.description())});
  }
}

// From a flag or the environment; empty: none.
std::string RequestReader::config_file() const {
  const auto at = request_.sources.find("config");
  return at == request_.sources.end() ? "" : at->second.text;
}

// Sources are read in order of precedence: the first one stays.
void RequestReader::take(const Flag& flag, Source source) {
  const std::string name(flag.name);
  const bool ignored = contains(flag.traits.ignored_by, request_.verb);
  if (!ignored && !contains(flag.verbs, request_.verb)) return;
  if (request_.sources.contains(name)) return;
  if (!ignored) apply(flag, source);
  request_.sources.emplace(name, std::move(source));
}

void RequestReader::apply(const Flag& flag, const Source& source) {
  const std::string found = place_and_value(source);
  std::optional<Violation> violation = set_flag(flag, source.text, found, request_.config);
  if (!violation.has_value()) violation = refusal(flag, source.text, found);
  // As of `--save "$FOLDER"` where there is no such variable: not the same as no flag.
  if (!violation.has_value() && source.text.empty() && !is_switch(flag)) {
    violation = {"flag-value", found, "empty; give a value, or leave the flag out"};
  }
  if (!violation.has_value()) return;
  violations_.push_back(std::move(*violation));
  request_.broken.insert(std::string(flag.name));
}

Request RequestReader::finish() {
  apply_aliases(request_, violations_);
  return std::move(request_);
}

}  // namespace

std::string Request::found(std::string_view flag) const {
  const auto at = sources.find(flag);
  if (at != sources.end()) return place_and_value(at->second);
  const Flag* known = find_flag(flag);
  const std::string text = known == nullptr ? "" : default_text(*known);
  return dashed(flag) + (text.empty() ? " not given" : " not given (default: " + text + ")");
}

EnvironmentVariables process_environment() {
  EnvironmentVariables environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Request read_request(Verb verb, const std::vector<std::string>& arguments,
                     const EnvironmentVariables& environment, std::vector<Violation>& violations) {
  RequestReader reader(verb, violations);
  reader.read_command_line(arguments);
  reader.read_environment(environment);
  try {
    if (const std::string path = reader.config_file(); !path.empty()) reader.read_file(path);
  } catch (const UserError& error) {
    reader.give_up();
    violations.insert(violations.end(), error.violations().begin(), error.violations().end());
  }
  return reader.finish();
}

}  // namespace weft
