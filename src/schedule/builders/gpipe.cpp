#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

Schedule build_gpipe(const BuildRequest& request) {
  const int total = request.num_micro_batches;
  Schedule schedule{{request.num_ranks, 1, Placement::Looped}, total, {}};
  for (int rank = 0; rank < request.num_ranks; ++rank) {
    auto& cells = schedule.ranks.emplace_back();
    for (int m = 0; m < total; ++m) cells.push_back(forward(Stage(rank), m));
    for (int m = 0; m < total; ++m) cells.push_back(backward(Stage(rank), m));
  }
  return schedule;
}

}  // namespace weft
