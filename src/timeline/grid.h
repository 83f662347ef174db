// A compute-level timeline as text.
#pragma once

#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace weft {

struct GridCell {
  double start = 0;
  double end = 0;
  std::string text;
  std::string above = {};  // in a line over the row, may be empty
  std::string below = {};  // in a line under it
};

struct GridRow {
  std::string name;
  std::vector<GridCell> cells;  // in order, none overlap
  std::string above = {};       // names of the two lines; empty: there is none
  std::string below = {};
};

// Rows under a ruler, folded into blocks so that no line is longer than `width` characters. Where
// all starts and ends are multiples of one unit, a column per unit; a cell that takes several
// columns is drawn out with `-`, an idle column is a `.`. Elsewhere (measured times, or a unit so
// small that the grid would be long) cells are drawn to scale, the shortest as wide as its text;
// or, where that is long too, in the order of starts and ends, which is said. Texts are whole: a
// cell whose text does not fit before a fold stands in the next block, which then begins with it.
// Only a text that is wider than a line is cut. Cells that take no time are not drawn, which is
// said.
//
//   time    0   1   2   3   4   5
//   rank 0  0F0 0F1 .   .   0B0----
//   rank 1  .   1F0 1B0---- 1F1
std::string print_grid(const std::vector<GridRow>& rows, int width = 80);

// One row per rank, a pair is `0F4;7B1`.
std::string print_grid(const Timeline& timeline, int width = 80);

}  // namespace weft
