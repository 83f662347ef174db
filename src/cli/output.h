// Results: to standard output, or to the file of --output.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace weft {

// To standard output. A reader that has gone away has seen all it wanted: that is no fault. Throws
// RuntimeFault if writing fails.
void print_result(std::string_view text);

// To the file of --output as a whole, or to standard output.
void write_result(const OutputConfig& output, std::string_view text);

// The --format asked for, else `text` where the result goes to a terminal, else `otherwise`.
std::string format_of(const OutputConfig& output, std::string_view otherwise);

// Columns that a text result may have: those of the terminal that it goes to (at least 40), else
// `otherwise`.
int terminal_width(const OutputConfig& output, int otherwise = 80);

}  // namespace weft
