// The model of a config as flags and values: what a checkpoint keeps of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace weft {

// Every flag that sets a field of Config::model, without dashes, with its value; flags without a
// value are left out.
std::map<std::string, std::string> model_flags(const Config& config);

// Sets them. Returns one violation per flag that is unknown or whose value is refused; `source` is
// where they come from.
std::vector<Violation> set_model_flags(const std::map<std::string, std::string>& flags,
                                       const std::string& source, Config& config);

}  // namespace weft
