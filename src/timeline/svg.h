// A timeline as a picture: one SVG that needs nothing else.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace weft {

// A row per rank under a ruler, with the lanes of wires below it where there are any; folded into
// bands of `width` pixels, so that a long step stays readable. Cells carry their action where it
// fits, else the micro-batch, else nothing; the pointer shows action and times. Idle time is
// hatched, exposed communication has a colour of its own.
std::string print_svg(const Timeline& timeline, const std::string& title, int width = 1600);

}  // namespace weft
