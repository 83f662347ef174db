// What the flags of a pasted launch script mean here.
#pragma once

#include <string>

#include "config/request.h"

namespace weft {

// The flags given that do not simply set something: read as another flag, the same as what Weft
// does anyway, without effect, or refused, each with the reason. Flags of one reason stand
// together. Empty if there are none; lines of at most 88 columns.
std::string script_summary(const Request& request);

}  // namespace weft
