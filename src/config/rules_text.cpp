#include "config/rules_text.h"

#include "base/columns.h"
#include "config/rules.h"

namespace weft {
namespace {

const char* name_of(Verdict verdict) { return verdict == Verdict::Kept ? "kept" : "lifted"; }

// For a terminal too narrow for the table.
std::string print_stacked(std::size_t width) {
  std::string text;
  for (const Rule& rule : rule_table()) {
    if (rule.verdict == Verdict::Own) continue;
    text += (text.empty() ? "" : "\n") + std::string(rule.name) + "\n" +
            indented(std::string(rule.feature) + ", the original: " + std::string(rule.original), 2,
                     width) +
            indented(name_of(rule.verdict) + (": " + std::string(rule.weft)), 2, width);
  }
  return text;
}

}  // namespace

std::string print_rules(int width) {
  const std::vector<std::size_t> widths = {29, 10, 22, 6, 25};
  constexpr int kTable = 29 + 10 + 22 + 6 + 25 + 4 * 2;
  if (width < kTable) return print_stacked(static_cast<std::size_t>(width));
  std::vector<std::vector<std::string>> rows = {
      {"rule", "feature", "the original", "here", "what Weft does"}};
  for (const Rule& rule : rule_table()) {
    if (rule.verdict == Verdict::Own) continue;
    rows.push_back({std::string(rule.name), std::string(rule.feature), std::string(rule.original),
                    name_of(rule.verdict), std::string(rule.weft)});
  }
  return print_columns(rows, widths);
}

}  // namespace weft
