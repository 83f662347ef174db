#include "comm/rank_report.h"

namespace weft {
namespace {

constexpr char kFaultKind = 'F';
constexpr char kUserKind = 'U';
constexpr char kPlanKind = 'P';

using Record = std::vector<std::string>;

std::string encode_records(char kind, const std::vector<Record>& records) {
  std::string bytes(1, kind);
  for (const Record& record : records) {
    for (const std::string& field : record) {
      for (const char c : field) {
        const bool is_mark = c == kFieldEnd || c == kRecordEnd || c == kReportEnd;
        bytes += is_mark ? ' ' : c;
      }
      bytes += kFieldEnd;
    }
    bytes += kRecordEnd;
  }
  return bytes + kReportEnd;
}

// Fields that are missing read as empty.
std::vector<Record> decode_records(std::string_view bytes, std::size_t num_fields) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    const std::string_view text = bytes.substr(0, bytes.find(kRecordEnd));
    bytes.remove_prefix(std::min(bytes.size(), text.size() + 1));
    Record record(1);
    for (const char c : text) {
      if (c == kFieldEnd) {
        record.emplace_back();
      } else {
        record.back() += c;
      }
    }
    record.resize(num_fields);
    records.push_back(std::move(record));
  }
  return records;
}

struct Encoder {
  std::string operator()(const FaultReport& report) const {
    return encode_records(kFaultKind, {{report.action, report.message}});
  }
  std::string operator()(const TerminatedReport& report) const {
    return encode_records(kTerminatedKind, {{report.action}});
  }
  std::string operator()(const UserReport& report) const {
    std::vector<Record> records;
    for (const Violation& v : report) records.push_back({v.rule, v.found, v.message});
    return encode_records(kUserKind, records);
  }
  std::string operator()(const PlanReport& report) const {
    std::vector<Record> records;
    for (const Finding& finding : report) records.push_back({finding.verifier, finding.message});
    return encode_records(kPlanKind, records);
  }
};

}  // namespace

std::string encode(const RankReport& report) { return std::visit(Encoder(), report); }

std::optional<RankReport> take_report(std::string& bytes) {
  const std::size_t end = bytes.find(kReportEnd);
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
