// Texts in fields and records, for pipes and the store. Internal to comm/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// How fields, records and the whole end.
inline constexpr char kFieldEnd = '\x1f';
inline constexpr char kRecordEnd = '\x1e';
inline constexpr char kRecordsEnd = '\0';

using Record = std::vector<std::string>;

// The three marks within a field become blanks. kRecordsEnd included.
std::string encode_records(const std::vector<Record>& records);
// Of text before kRecordsEnd. Fields that are missing read as empty.
std::vector<Record> decode_records(std::string_view bytes, std::size_t num_fields);

}  // namespace weft
