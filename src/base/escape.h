// Text of others made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The text with every byte that a terminal would act on, or that is no UTF-8, as `\x1b`: control
// characters other than line ends, and the parts of characters that are not whole. What is left is
// as it was.
std::string escaped(std::string_view text);

}  // namespace weft
