// Large numbers for a person.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

inline constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

// `731 B`, `12.5 KiB`, `3.25 GiB`: three digits, powers of 1024.
std::string print_bytes(std::int64_t bytes);
// `12`, `4.70 k`, `46.7 G`: three digits, powers of 1000.
std::string print_count(double count);

}  // namespace weft
