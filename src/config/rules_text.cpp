#include "config/rules_text.h"

#include "base/columns.h"
#include "config/rules.h"

namespace weft {

std::string print_rules() {
  std::vector<std::vector<std::string>> rows = {
      {"rule", "feature", "the original", "here", "what Weft does"}};
  for (const Rule& rule : rule_table()) {
    if (rule.verdict == Verdict::Own) continue;
    rows.push_back({std::string(rule.name), std::string(rule.feature), std::string(rule.original),
                    rule.verdict == Verdict::Kept ? "kept" : "lifted", std::string(rule.weft)});
  }
  return print_columns(rows, {29, 10, 22, 6, 25});
}

}  // namespace weft
