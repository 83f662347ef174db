// A compute-level timeline as text.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace weft {

// One row per rank and one column per unit of time, under a ruler; folded into blocks of at most
// `width` characters. A cell that takes several columns is drawn out with `-`; an idle column is a
// `.`, a pair `0F4;7B1`. The column is the largest unit of which all starts and ends are multiples;
// where there is none (measured times) columns are approximate and labels may be cut short.
//
//   time    0   1   2   3   4   5
//   rank 0  0F0 0F1 .   .   0B0----
//   rank 1  .   1F0 1B0---- 1F1
std::string print_grid(const Timeline& timeline, int width = 80);

}  // namespace weft
