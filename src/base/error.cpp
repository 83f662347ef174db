#include "base/error.h"

namespace weft {
namespace {

std::string join(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    if (!text.empty()) text += '\n';
    text += violation.rule + ": " + violation.found + ": " + violation.message;
  }
  return text;
}

std::string join(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += '\n';
    text += finding.verifier + ": " + finding.message;
  }
  return text;
}

}  // namespace

UserError::UserError(std::vector<Violation> violations)
    : std::runtime_error(join(violations)), violations_(std::move(violations)) {}

PlanError::PlanError(std::vector<Finding> findings)
    : std::runtime_error(join(findings)), findings_(std::move(findings)) {}

void weft_assert(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace weft
