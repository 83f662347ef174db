#include "comm/records.h"

#include <algorithm>
#include <utility>

namespace weft {

std::string encode_records(const std::vector<Record>& records) {
  std::string bytes;
  for (const Record& record : records) {
    for (const std::string& field : record) {
      for (const char c : field) {
        const bool is_mark = c == kFieldEnd || c == kRecordEnd || c == kRecordsEnd;
        bytes += is_mark ? ' ' : c;
      }
      bytes += kFieldEnd;
    }
    bytes += kRecordEnd;
  }
  return bytes + kRecordsEnd;
}

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

}  // namespace weft
