#include "timeline/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kWidth = 80;

std::string print_row(const std::vector<std::string>& cells,
                      const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += i == 0 ? fmt::format("{:<{}}", cells[i], widths[i])
                   : fmt::format("  {:>{}}", cells[i], widths[i]);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string wrapped(const std::string& text) {
  std::string result, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      result += line + "\n";
      line = word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    at = end + 1;
  }
  return result + line + "\n";
}

}  // namespace

std::string print_table(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    widths.push_back(table.columns[i].size());
    for (const auto& row : table.rows) widths.back() = std::max(widths.back(), row.at(i).size());
  }
  std::string text = wrapped(table.title) + print_row(table.columns, widths);
  for (const auto& row : table.rows) text += print_row(row, widths);
  if (!table.note.empty()) text += wrapped(table.note);
  return text;
}

}  // namespace weft
