// The text of `weft --help` and `weft VERB --help`, from the tables of verbs and flags.
#pragma once

#include <string>

#include "config/verb.h"

namespace weft {

std::string program_help();
// Grouped, with kinds, defaults and examples; not built and refused flags at the end.
std::string verb_help(Verb verb);

}  // namespace weft
