// List scheduling: every rank takes, whenever it is free, the op that a policy likes best.
#pragma once

#include "search/problem.h"

namespace weft {

struct Policy {
  // Of ops that could run: input gradients first, or forwards first. Deeper chunks first in both.
  bool forwards_first = false;
  // Forwards of stage 0 keep this distance, in parts of what a micro-batch costs a rank: 0 fills
  // the memory at once, 1 lets in only what can leave.
  double admission = 0;
  int max_pending = 0;  // weight gradients that wait on a rank, at least 1
  // How far a weight gradient may run into the time when something else could start, in parts of
  // its own; likewise a forward into the time of an input gradient.
  double wgrad_intrusion = 0;
  double forward_intrusion = 1;
  bool pairs = false;
  // How long a forward or an input gradient waits for its partner in a pair, in parts of the pair.
  double patience = 0;
  // Places that a forward of chunk 0 leaves free if it runs alone, so that pairs have room.
  int spare = 0;
};

// An order and when it ends.
struct Draft {
  Words words;
  double makespan = 0;
};

// Never stuck for max_live_chunks >= 2. Near linear in the number of ops.
Draft draft(const SearchProblem& problem, const Policy& policy);

}  // namespace weft
