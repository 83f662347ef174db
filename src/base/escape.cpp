#include "base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace weft {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Bytes of the character that begins the text: 0 if it is none of UTF-8, or a control character of
// two bytes (U+0080 to U+009F).
std::size_t character_size(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80U) return 1;
  const std::size_t size = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
  if (first < 0xc2U || first > 0xf4U || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80U) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool control = first == 0xc2U && second < 0xa0U;
  const bool overlong = (first == 0xe0U && second < 0xa0U) || (first == 0xf0U && second < 0x90U);
  const bool none = (first == 0xedU && second >= 0xa0U) || (first == 0xf4U && second >= 0x90U);
  return control || overlong || none ? 0 : size;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20U && c != '\n') || c == '\x7f';
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0 || is_control(text.front())) {
      result += fmt::format("\\x{:02x}", byte_at(text, 0));
    } else {
      result += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace weft
