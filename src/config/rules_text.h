// The rules of the original as a table for people.
#pragma once

#include <string>

namespace weft {

// Every rule of MindSpeed's DualPipeV, overlap and layout: its name, what it belongs to, what the
// original asks, whether Weft keeps or lifts it, and what Weft does. A table of 100 columns; where
// `width` is less, paragraphs.
std::string print_rules(int width = 100);

}  // namespace weft
