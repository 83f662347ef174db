// Where each value of a run came from.
#pragma once

#include <string>
#include <vector>

#include "config/request.h"

namespace weft {

struct ValueSource {
  std::string flag;       // without dashes
  std::string value;      // in force
  std::string origin;     // flag, environment, file, model, default, or derived from other values
  std::string place;      // `--num-layers`, `WEFT_NUM_LAYERS`, `run.toml:3: num-layers`; or empty
  std::string overrides;  // what the model of --model has instead, if a value beat it

  bool operator==(const ValueSource&) const = default;
};

// Every flag of the request's verb that was given or has a value in `resolved` (config/derive.h),
// in the order of the table of flags.
std::vector<ValueSource> value_sources(const Request& request, const Config& resolved);

}  // namespace weft
