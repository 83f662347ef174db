// What a command line, the environment and a TOML file ask for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "config/verb.h"

namespace weft {

enum class SourceKind { CommandLine, Environment, File, Model };

// Where a value came from. A flag beats the environment beats the file beats the model of --model.
struct Source {
  SourceKind kind = SourceKind::CommandLine;
  std::string place;           // `--num-layers`, `WEFT_NUM_LAYERS`, `run.toml:3: num-layers`
  std::string text;            // the value as written
  std::string overrides = "";  // the value that the model of --model has instead, if it differs

  bool operator==(const Source&) const = default;
};

struct Request {
  Verb verb = Verb::Train;
  Config config;
  std::map<std::string, Source, std::less<>> sources;  // by flag; flags not given are not here
  std::set<std::string, std::less<>> broken;  // flags whose value was refused: rules skip these
  std::set<std::string, std::less<>> open;    // flags that a search chooses: rules skip these too
  std::vector<std::string> warnings;
  bool help = false;
  std::vector<std::string> command_line;  // the program's name first, for ranks started by us
  bool incomplete = false;  // a source could not be read: what is missing says nothing

  bool given(std::string_view flag) const { return sources.contains(flag); }
  // `--num-layers 7`, `WEFT_NUM_LAYERS=7`, `run.toml:3: num-layers = 7`; the default if not given.
  std::string found(std::string_view flag) const;
};

// Environment variables by name.
using EnvironmentVariables = std::map<std::string, std::string>;
EnvironmentVariables process_environment();

// Reads `arguments` (those after the verb), WEFT_* of the environment and the file of --config.
// Appends everything wrong with single values to `violations`: unknown flags, keys and values,
// numbers out of range, a flag given twice, flags of other verbs, flags not built yet. In the
// environment and in a file flags of other verbs are passed over.
Request read_request(Verb verb, const std::vector<std::string>& arguments,
                     const EnvironmentVariables& environment, std::vector<Violation>& violations);

}  // namespace weft
