// A table of texts: a terminal and the page show the same.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Table {
  std::string title;
  std::string note;                            // below it, may be empty
  std::vector<std::string> columns;            // headings; the first column is left-aligned
  std::vector<std::vector<std::string>> rows;  // as many cells as columns

  bool operator==(const Table&) const = default;
};

// For a terminal: the title, headings and rows in columns as wide as they need, the note.
std::string print_table(const Table& table);

}  // namespace weft
