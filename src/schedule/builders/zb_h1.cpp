#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

// P - r micro-batches are live on rank r; with r pending W's beside them no rank keeps more than
// rank 0 of 1F1B does.
Schedule build_zb_h1(const BuildRequest& request) {
  Schedule schedule = build_one_f_one_b(request);
  for (int rank = 0; rank < request.num_ranks; ++rank) {
    schedule.ranks[rank] = split_backwards(schedule.ranks[rank], rank);
  }
  return schedule;
}

}  // namespace weft
