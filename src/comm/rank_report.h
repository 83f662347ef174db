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

// First character of an encoded report, and how its fields, records and end are marked.
inline constexpr char kTerminatedKind = 'T';
inline constexpr char kFieldEnd = '\x1f';
inline constexpr char kRecordEnd = '\x1e';
inline constexpr char kReportEnd = '\0';

std::string encode(const RankReport& report);  // kReportEnd included
// The first complete report of `bytes`, if there is one, which is then removed from it.
std::optional<RankReport> take_report(std::string& bytes);

}  // namespace weft
