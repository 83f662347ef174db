// The rules of the original as a table for people.
#pragma once

#include <string>

namespace weft {

// Every rule of MindSpeed's DualPipeV, overlap and layout: its name, what it belongs to, what the
// original asks, whether Weft keeps or lifts it, and what Weft does. At most 100 columns wide.
std::string print_rules();

}  // namespace weft
