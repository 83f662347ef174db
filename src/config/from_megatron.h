// The page for those who come from Megatron or MindSpeed, made from the flag table.
#pragma once

#include <string>

namespace weft {

// docs/from-megatron.md, whole.
std::string from_megatron_page();

}  // namespace weft
