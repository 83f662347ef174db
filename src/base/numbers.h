// Numbers to text and back, without loss or for a person; medians.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The shortest text that reads back as the same bits; a whole number keeps a `.0`, so that it reads
// as a float everywhere (`66.0`, `0.0003`, `1e-05`). `nan`, `inf` and `-inf` for what is not
// finite.
std::string print_double(double value);

// For a person: about `digits` significant digits, no zeros that say nothing, and an exponent only
// far from 1: `35.1`, `1485`, `1234567`, `0.00002`, `1e+20`.
std::string print_rounded(double value, int digits = 6);

// The whole text as a decimal number; a leading `+` is allowed, blanks are not. Empty if it is no
// number or does not fit.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_int64(std::string_view text);

// Of an even number of values the greater one in the middle; empty if there are none.
std::optional<double> median(std::vector<double> values);

}  // namespace weft
