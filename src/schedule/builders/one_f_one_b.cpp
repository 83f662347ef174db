#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

Schedule build_one_f_one_b(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int total = request.num_micro_batches;
  Schedule schedule{{ranks, 1, Placement::Looped}, total, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    auto& cells = schedule.ranks.emplace_back();
    const Stage stage(rank);
    const int warm_up = std::min(ranks - 1 - rank, total);
    for (int m = 0; m < warm_up; ++m) cells.push_back(forward(stage, m));
    for (int m = 0; m < total; ++m) {
      if (warm_up + m < total) cells.push_back(forward(stage, warm_up + m));
      cells.push_back(backward(stage, m));
    }
  }
  return schedule;
}

}  // namespace weft
