// The layout string of --pipeline-model-parallel-layout: stages in forward order, joined by `|`.
//
//   string  item*             commas are dropped first
//   item    char [* N]        E embedding, t decoder layer, m MTP layer, L loss, | next stage
//         | ( item+ ) * N     groups do not nest; repeated as text, so they may hold |
#pragma once

#include <string>
#include <vector>

#include "layout/layout.h"

namespace weft {

// Layers are numbered from 0 in the order of the string. Exactly one E, first; one L, last; no t
// after an m. Throws UserError, rule "layout-string", with a caret under the place.
std::vector<StageLayers> parse_layout_string(const std::string& text);

// `Ett|tt|ttt|tmL`: the stages' texts, nothing folded.
std::string print_layout_string(const std::vector<StageLayers>& stages);

}  // namespace weft
