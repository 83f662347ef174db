// Text in columns, for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The words of `text` in lines of at most `width` bytes; a longer word has a line of its own. At
// least one line, which may be empty.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Each line of `wrap(text, width - indent)` behind `indent` blanks and with a line end.
std::string indented(std::string_view text, std::size_t indent, std::size_t width);

// The text as an entry of a list: `  - ` and its lines.
std::string listed(std::string_view text, std::size_t width);

// Rows of cells, each wrapped to the width of its column; two blanks stand between columns, none at
// the end of a line. A row has at most as many cells as there are widths.
std::string print_columns(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::size_t>& widths);

}  // namespace weft
