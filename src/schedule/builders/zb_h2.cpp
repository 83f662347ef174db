#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

// With F = I = W a gradient reaches rank 0 2P - 1 units after its first forward: that many forwards
// fill the wait, and two fewer for each hop down. All ranks then run the same time, each starting
// and ending a unit after the one before; 2r pending weight gradients are what rank r ends with.
Schedule build_zb_h2(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int total = request.num_micro_batches;
  Schedule schedule{{ranks, 1, Placement::Looped}, total, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto cells = forward_backward_in_turn(Stage(rank), 2 * (ranks - 1 - rank), total);
    schedule.ranks.push_back(split_backwards(cells, 2 * rank));
  }
  return schedule;
}

}  // namespace weft
