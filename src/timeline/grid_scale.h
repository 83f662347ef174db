// How a text grid lays times out on characters.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

// What a grid has to show: from when to when, in how many characters at least.
struct GridSpan {
  double start = 0;
  double end = 0;
  int room = 1;  // the longest of its texts, and a blank
};

// Characters by time, from 0 at time 0. Every span has its room.
struct GridScale {
  enum class Kind {
    Exact,    // all times are multiples of `unit`: a column of `column` characters for each
    ToScale,  // `unit` is a character
    Ordered,  // each of `times`, which are all starts and ends, stands at its place; not to scale
  };
  Kind kind = Kind::Exact;
  double unit = 1;
  int column = 1;
  std::vector<double> times = {};  // rising; of Ordered alone
  std::vector<int> places = {};    // rising, one for each of `times`
  int digits = 0;                  // behind the point, which tell neighbours of `times` apart

  int at(double time) const;
};

// The largest common unit, unless drawing to scale takes half of its characters; either, unless
// keeping the order alone takes an eighth of them: where a long span stands beside short ones, or
// times have little in common. `spans`: of all rows, of positive length; those of a row do not
// overlap. `gaps`: idle times, which have room too where the order alone is kept.
GridScale choose_scale(const std::vector<GridSpan>& spans, const std::vector<GridSpan>& gaps);

}  // namespace weft
