#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

Schedule build_one_f_one_b(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int total = request.num_micro_batches;
  Schedule schedule{{ranks, 1, Placement::Looped}, total, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    schedule.ranks.push_back(forward_backward_in_turn(Stage(rank), ranks - 1 - rank, total));
  }
  return schedule;
}

}  // namespace weft
