// Which neighbouring cells are woven as one outside the steady phase: --overlap-outside-steady.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace weft {

struct JoinedSchedule {
  Schedule schedule;  // transfers level; joined cells stand next to each other
  // [rank][cell] how many cells are woven as one from here on: 1 alone, 0 part of those before.
  std::vector<std::vector<int>> num_joined;
};

// Every cell alone.
JoinedSchedule join_nothing(Schedule transfers);

// Joins what can hide each other's wires and does not depend on each other: in warm-up (before the
// rank's first pair, without pairs before its first backward) two forwards, in cool-down (behind
// the last pair, without pairs behind the last forward) two backwards with the W's around them that
// are older than both. Messages that stood between joined cells are received ahead of them and sent
// behind them. A joined cell starts when all that it needs is there and hands over when all of it
// is done. The choice is made along one clock for all ranks (F, I and W last one unit each), at a
// time when what a joined cell needs has been computed, so nothing can wait in a circle: a rank
// waits for its second half no longer than kPatience units, then runs the first alone.
// Precondition: verify_transfers found nothing. Linear, but for sorting by time.
JoinedSchedule join_cells(const Schedule& transfers);

}  // namespace weft
