// The bytes tokenizer: token = byte, and 256 for the end of a document where one is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr std::int64_t kByteVocabulary = 256;
inline constexpr std::int64_t kEndOfDocument = 256;

std::vector<std::int64_t> encode_bytes(std::string_view text);
// Tokens that are no byte stand as <256>.
std::string decode_bytes(const std::vector<std::int64_t>& tokens);

// Text that a terminal can show: what is not UTF-8 and control characters other than newline and
// tab become \xNN.
std::string printable(std::string_view bytes);

}  // namespace weft
