// Rows of the flag table that are there for launch scripts alone. Names and what they take:
// Megatron-LM megatron/training/arguments.py, MindSpeed mindspeed/features_manager, MindSpeed-LLM
// mindspeed_llm/training/arguments.py and its example scripts.
#pragma once

#include <string_view>
#include <vector>

#include "config/flag.h"

namespace weft {

enum class Takes { Nothing, Value, OneOrMore, AnyNumber };

struct ScriptFlag {
  std::string_view name;
  Takes takes = Takes::Nothing;
  FlagStatus status = FlagStatus::NoEffect;  // Built: sets another flag (aliases.h)
  std::string_view neutral = "";             // value that is the same here
  std::string_view note = "";
};

struct ScriptFlagGroup {
  std::string_view heading;
  std::vector<ScriptFlag> flags;
};

// As rows of the flag table, of every verb that takes a run's sizes.
std::vector<Flag> script_flags();

// The groups of model and numbers; of the run.
std::vector<ScriptFlagGroup> model_script_flags();
std::vector<ScriptFlagGroup> run_script_flags();

}  // namespace weft
