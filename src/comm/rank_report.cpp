#include "comm/rank_report.h"

#include "comm/records.h"

namespace weft {
namespace {

constexpr char kFaultKind = 'F';
constexpr char kUserKind = 'U';
constexpr char kPlanKind = 'P';

struct Encoder {
  std::string operator()(const FaultReport& report) const {
    return kFaultKind + encode_records({{report.action, report.message}});
  }
  std::string operator()(const TerminatedReport& report) const {
    return kTerminatedKind + encode_records({{report.action}});
  }
  std::string operator()(const UserReport& report) const {
    std::vector<Record> records;
    for (const Violation& v : report) records.push_back({v.rule, v.found, v.message});
    return kUserKind + encode_records(records);
  }
  std::string operator()(const PlanReport& report) const {
    std::vector<Record> records;
    for (const Finding& finding : report) records.push_back({finding.verifier, finding.message});
    return kPlanKind + encode_records(records);
  }
};

}  // namespace

std::string encode(const RankReport& report) { return std::visit(Encoder(), report); }

std::optional<RankReport> take_report(std::string& bytes) {
  const std::size_t end = bytes.find(kRecordsEnd);
  if (end == std::string::npos) return std::nullopt;
  const std::string report = bytes.substr(0, end);
  bytes.erase(0, end + 1);
  if (report.empty()) return FaultReport();
  const std::string_view fields = std::string_view(report).substr(1);
  if (report.front() == kUserKind) {
    UserReport violations;
    for (const Record& r : decode_records(fields, 3)) violations.push_back({r[0], r[1], r[2]});
    return violations;
  }
  if (report.front() == kPlanKind) {
    PlanReport findings;
    for (const Record& r : decode_records(fields, 2)) findings.push_back({r[0], r[1]});
    return findings;
  }
  const std::vector<Record> records = decode_records(fields, 2);
  const Record record = records.empty() ? Record(2) : records.front();
  if (report.front() == kTerminatedKind) return TerminatedReport{record[0]};
  return FaultReport{record[0], record[1]};
}

}  // namespace weft
