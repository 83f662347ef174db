// A compute-level timeline as text.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace weft {

// One row per rank under a ruler, folded into blocks so that no line is longer than `width`
// characters. Where all starts and ends are multiples of one unit, a column per unit; a cell that
// takes several columns is drawn out with `-`, an idle column is a `.`, a pair is `0F4;7B1`.
// Elsewhere (measured times, or a unit so small that the grid would be long) cells are drawn to
// scale: the shortest as wide as its label. A label that does not fit is cut short.
//
//   time    0   1   2   3   4   5
//   rank 0  0F0 0F1 .   .   0B0----
//   rank 1  .   1F0 1B0---- 1F1
std::string print_grid(const Timeline& timeline, int width = 80);

}  // namespace weft
