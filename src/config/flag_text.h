// Values of flags as text.
#pragma once

#include <optional>
#include <string>

#include "config/flag.h"

namespace weft {

// The value that the flag's field has in `config`, as the flag would take it; empty text for an
// optional without one. Nothing for a flag without a field.
std::optional<std::string> flag_text(const Flag& flag, const Config& config);

}  // namespace weft
