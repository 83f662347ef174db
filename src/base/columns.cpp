#include "base/columns.h"

#include <algorithm>

namespace weft {

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line += ' ';
      line += word;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string indented(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  for (const std::string& line : wrap(text, width - indent)) {
    result += std::string(indent, ' ') + line + "\n";
  }
  return result;
}

std::string listed(std::string_view text, std::size_t width) {
  std::string lines = indented(text, 4, width);
  lines[2] = '-';
  return lines;
}

std::string print_columns(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::size_t>& widths) {
  std::string result;
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t column = 0; column < row.size(); ++column) {
      cells.push_back(wrap(row[column], widths.at(column)));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      for (std::size_t column = 0; column < cells.size(); ++column) {
        std::string cell = i < cells[column].size() ? cells[column][i] : "";
        cell.resize(std::max(cell.size(), widths[column]) + 2, ' ');
        line += cell;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
    }
  }
  return result;
}

}  // namespace weft
