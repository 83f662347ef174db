// What a rank tells the launcher when it ends by an error. Internal to comm/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace weft {

// The user's input, the plan, or a fault; `action` is where the rank was.
struct FaultReport {
  std::string action, message;
  bool operator==(const FaultReport&) const = default;
};
// Ended by SIGTERM.
struct TerminatedReport {
  std::string action;
  bool operator==(const TerminatedReport&) const = default;
};
using UserReport = std::vector<Violation>;
using PlanReport = std::vector<Finding>;

using RankReport = std::variant<FaultReport, TerminatedReport, UserReport, PlanReport>;

// First character of an encoded report of the end by SIGTERM, whose handler writes it by itself.
inline constexpr char kTerminatedKind = 'T';

std::string encode(const RankReport& report);  // kRecordsEnd included
// The first complete report of `bytes`, if there is one, which is then removed from it.
std::optional<RankReport> take_report(std::string& bytes);

}  // namespace weft
