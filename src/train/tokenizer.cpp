#include "train/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace weft {
namespace {

// Length of the UTF-8 sequence at the start of `bytes` (Unicode, table 3-7), 0 if there is none.
std::size_t utf8_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_large = first == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

// C0, DEL and C1 (which UTF-8 writes as C2 80 to C2 9F); a terminal may act on them.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first == '\n' || first == '\t') return false;
  if (first < 0x20 || first == 0x7F) return true;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::vector<std::int64_t> encode_bytes(std::string_view text) {
  std::vector<std::int64_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(),
                 [](char c) { return static_cast<unsigned char>(c); });
  return tokens;
}

std::string decode_bytes(const std::vector<std::int64_t>& tokens) {
  std::string text;
  for (const std::int64_t token : tokens) {
    const bool is_byte = token >= 0 && token < kByteVocabulary;
    text += is_byte ? std::string(1, static_cast<char>(token)) : "<" + std::to_string(token) + ">";
  }
  return text;
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    std::size_t length = utf8_length(bytes);
    if (length > 0 && !is_control(bytes)) {
      text += bytes.substr(0, length);
    } else {
      length = length == 0 ? 1 : length;
      for (const char c : bytes.substr(0, length)) {
        char escape[5];
        std::snprintf(escape, sizeof escape, "\\x%02X", static_cast<unsigned char>(c));
        text += escape;
      }
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace weft
