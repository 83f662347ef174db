// What has to be the same on all ranks of a run.
#pragma once

#include <string>

namespace weft {

struct SharedSetting {
  std::string name;    // `--seed`, `WORLD_SIZE`
  std::string value;   // as given
  std::string digest;  // of what the value stands for; if ranks have one, the value may differ
  bool is_given = true;  // by the user, rather than what follows from others

  bool operator==(const SharedSetting&) const = default;
};

}  // namespace weft
