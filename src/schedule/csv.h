// The compute and transfers levels as PyTorch's pipelining CSV: one line per rank, cells joined by
// a comma, no header.
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.h"

namespace weft {

std::string print_csv(const Schedule& schedule);

// Blank cells, spaces, trailing blank lines and PyTorch's `UNSHARD` and `RESHARD` are skipped. The
// stage map follows from which rank runs which stages: looped, else V (one rank with two stages
// counts as looped). The number of micro-batches is the highest one named plus one. Whether the
// order can run is for the verifiers. Throws UserError with file, line, cell and what was expected;
// every bad cell is listed.
Schedule parse_csv(std::string_view text, const std::string& file_name);

// Reads the file and parses it. Throws UserError too if it cannot be read.
Schedule read_csv(const std::string& file_name);

}  // namespace weft
