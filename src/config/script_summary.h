// What the flags of a pasted launch script mean here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/request.h"

namespace weft {

// Flags given that share one fate and its reason.
struct ScriptFlags {
  std::string heading;  // "The same here"
  std::string flags;    // with their values, joined by commas
  std::string reason;
};

// The flags given that do not simply set something: read as another flag, the same as what Weft
// does anyway, without effect, or refused. In this order.
std::vector<ScriptFlags> script_flags_of(const Request& request);

// Lines of at most `width` columns; empty if there are none.
std::string print_script_flags(const std::vector<ScriptFlags>& summary, std::size_t width = 88);

}  // namespace weft
