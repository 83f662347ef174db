// A table of texts: a terminal and the page show the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

struct Table {
  std::string title;                           // may be empty
  std::string note;                            // below it, may be empty
  std::vector<std::string> columns;            // headings
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
  std::size_t left_aligned = 1;                // so many columns; the others are numbers

  bool operator==(const Table&) const = default;
};

// For a terminal of `width` characters: the title, headings and rows in columns as wide as they
// need, the note. Where they need too much, the cells of left-aligned columns are folded at their
// blanks; if that does not do, the columns stand in blocks below each other, each behind the first.
std::string print_table(const Table& table, int width = 80);

}  // namespace weft
