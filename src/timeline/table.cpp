#include "timeline/table.h"

#include <algorithm>
#include <numeric>

#include "base/columns.h"

namespace weft {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastFolded = 12;  // a column is not folded to less

using Widths = std::vector<std::size_t>;

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& word : wrap(text, 1)) longest = std::max(longest, word.size());
  return longest;
}

// Of a column, heading included, by one measure of a cell.
template <class Measure>
std::size_t widest(const Table& table, std::size_t column, Measure measure) {
  std::size_t width = measure(table.columns[column]);
  for (const auto& row : table.rows) width = std::max(width, measure(row.at(column)));
  return width;
}

std::size_t line_size(const Widths& widths) {
  if (widths.empty()) return 0;
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

// Left-aligned columns are narrowed, the widest first, until a line fits or none can be.
void narrow(Widths& widths, const Table& table, std::size_t width) {
  Widths least = widths;
  for (std::size_t i = 0; i < std::min(table.left_aligned, widths.size()); ++i) {
    const std::size_t word = widest(table, i, longest_word);
    least[i] = std::min(widths[i], std::max(word, kLeastFolded));
  }
  while (line_size(widths) > width) {
    std::size_t column = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] == least[i]) continue;
      if (column == widths.size() || widths[i] > widths[column]) column = i;
    }
    if (column == widths.size()) return;
    --widths[column];
  }
}

// Columns of each block: the first one, and as many of the others as fit beside it.
std::vector<std::vector<std::size_t>> blocks_of(const Widths& widths, std::size_t width) {
  std::vector<std::vector<std::size_t>> blocks = {{}};
  std::size_t size = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (blocks.back().size() > 1 && size + kGap + widths[i] > width) {
      blocks.push_back({0});
      size = widths[0];
    }
    size += (blocks.back().empty() ? 0 : kGap) + widths[i];
    blocks.back().push_back(i);
  }
  return blocks;
}

std::string print_row(const std::vector<std::string>& cells,
                      const std::vector<std::size_t>& columns, const Widths& widths,
                      std::size_t left_aligned) {
  std::vector<std::vector<std::string>> folded;
  std::size_t height = 1;
  for (const std::size_t i : columns) {
    const bool fits = cells.at(i).size() <= widths[i];
    folded.push_back(fits ? std::vector<std::string>{cells[i]} : wrap(cells[i], widths[i]));
    height = std::max(height, folded.back().size());
  }
  std::string text;
  for (std::size_t h = 0; h < height; ++h) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = h < folded[c].size() ? folded[c][h] : "";
      const std::string blanks(widths[columns[c]] - std::min(cell.size(), widths[columns[c]]), ' ');
      if (c > 0) line.append(kGap, ' ');
      line += columns[c] < left_aligned ? cell + blanks : blanks + cell;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string print_table(const Table& table, int width) {
  const auto room = static_cast<std::size_t>(std::max(width, 1));
  Widths widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    widths.push_back(widest(table, i, [](const std::string& cell) { return cell.size(); }));
  }
  narrow(widths, table, room);
  std::string text = table.title.empty() ? "" : indented(table.title, 0, room);
  bool first = true;
  for (const std::vector<std::size_t>& block : blocks_of(widths, room)) {
    if (!first) text += "\n";
    first = false;
    text += print_row(table.columns, block, widths, table.left_aligned);
    for (const auto& row : table.rows) text += print_row(row, block, widths, table.left_aligned);
  }
  if (!table.note.empty()) text += indented(table.note, 0, room);
  return text;
}

}  // namespace weft
