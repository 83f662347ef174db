// Words for an exchange that failed, alike for every communicator.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/ids.h"

namespace weft {

// "rank 1", "ranks 0, 2".
std::string ranks_text(const std::vector<Rank>& ranks);

// "rank 1: recv from rank 0 (tag 7) on group 'edge 0 forward' with rank 0".
std::string exchange_text(Rank rank, const std::string& what, const std::string& group,
                          const std::vector<Rank>& peers);

// "0.25 s".
std::string seconds_text(std::chrono::milliseconds duration);

}  // namespace weft
