#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {

Schedule build_no_pipeline(const BuildRequest& request) {
  const int chunks = request.chunks_per_rank;
  const int total = request.num_micro_batches;
  Schedule schedule{{1, chunks, Placement::Looped}, total, {{}}};
  auto& cells = schedule.ranks[0];
  // On one rank chunk and stage are the same; the backward meets the chunks from the last one on.
  const auto forward_of = [&](int chunk, int m) { return forward(Stage(chunk), m); };
  const auto backward_of = [&](int chunk, int m) { return backward(Stage(chunks - 1 - chunk), m); };

  for (int c = 0; c < chunks; ++c) cells.push_back(forward_of(c, 0));
  for (int m = 1; m < total; ++m) {
    if (request.overlap) {
      for (int c = 0; c < chunks; ++c) {
        cells.push_back(ActionPair{forward_of(c, m), backward_of(c, m - 1)});
      }
    } else {
      for (int c = 0; c < chunks; ++c) cells.push_back(backward_of(c, m - 1));
      for (int c = 0; c < chunks; ++c) cells.push_back(forward_of(c, m));
    }
  }
  for (int c = 0; c < chunks; ++c) cells.push_back(backward_of(c, total - 1));
  return schedule;
}

}  // namespace weft
