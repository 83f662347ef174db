#include "config/rules.h"

#include <sstream>

namespace weft {
namespace {

std::vector<Rule> make_table() {
  std::vector<Rule> table = original_rules();
  for (const std::vector<Rule>& part :
       {schedule_rules(), schedule_file_rules(), size_rules(), script_rules()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  return table;
}

// Of a flag whose value was refused, or is still to be chosen, nothing follows.
bool reads_unknown_flag(const Rule& rule, const Request& request) {
  std::istringstream flags{std::string(rule.flags)};
  for (std::string flag; flags >> flag;) {
    if (request.broken.contains(flag) || request.open.contains(flag)) return true;
  }
  return false;
}

}  // namespace

const std::vector<Rule>& rule_table() {
  static const std::vector<Rule> kTable = make_table();
  return kTable;
}

std::vector<Violation> check(const Request& request, const RunFacts& facts) {
  const RuleInput input{request, request.config, facts};
  std::vector<Violation> violations;
  if (request.incomplete) return violations;
  for (const Rule& rule : rule_table()) {
    if (rule.check == nullptr || !contains(rule.verbs, request.verb)) continue;
    if (reads_unknown_flag(rule, request)) continue;
    RuleBreak broken = rule.check(input);
    if (broken.found.empty()) continue;
    violations.push_back(
        {std::string(rule.name), std::move(broken.found), std::move(broken.message)});
  }
  return violations;
}

}  // namespace weft
