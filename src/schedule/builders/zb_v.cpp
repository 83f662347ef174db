#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {
namespace {

// Chunk 0 is the way down the V, chunk 1 the way up. The counters are the next micro-batch of each
// chunk's F's, I's and W's.
class ZbVRank {
 public:
  ZbVRank(const StageMap& map, Rank rank)
      : stage_{map.stage_of(rank, Chunk(0)), map.stage_of(rank, Chunk(1))} {}

  void add_forward(int chunk) { cells_.push_back(forward(stage_[chunk], forwards_[chunk]++)); }
  void add_dgrad(int chunk) { cells_.push_back(dgrad(stage_[chunk], dgrads_[chunk]++)); }
  void add_wgrad(int chunk) { cells_.push_back(wgrad(stage_[chunk], wgrads_[chunk]++)); }
  void add_backward(int chunk) {
    add_dgrad(chunk);
    add_wgrad(chunk);
  }
  bool has_pending(int chunk) const { return wgrads_[chunk] < dgrads_[chunk]; }
  std::vector<Cell> take() { return std::move(cells_); }

 private:
  Stage stage_[2];
  int forwards_[2] = {0, 0};
  int dgrads_[2] = {0, 0};
  int wgrads_[2] = {0, 0};
  std::vector<Cell> cells_;
};

// Needs M >= 2P - 1.
std::vector<Cell> zb_v_rank(const StageMap& map, int r, int micro_batches) {
  const int below = map.num_ranks - 1 - r;  // ranks further down the V
  ZbVRank rank(map, Rank(r));
  // 1. Warm-up: what a micro-batch takes to the fold and back.
  for (int i = 0; i < 2 * below + 1; ++i) rank.add_forward(0);
  // 2. The first micro-batches are back, their gradients are not.
  for (int i = 0; i < r; ++i) {
    rank.add_forward(1);
    rank.add_forward(0);
  }
  // 3. Gradients come down chunk 1 and have not reached chunk 0.
  for (int i = 0; i < below + 1; ++i) {
    rank.add_forward(1);
    rank.add_backward(1);
  }
  // 4. Steady: F, I and W of both chunks, six units a micro-batch. At the end no F of chunk 0 is
  // left.
  for (int i = 0; i < micro_batches - map.num_ranks; ++i) {
    if (2 * map.num_ranks - 1 - r + i < micro_batches) rank.add_forward(0);
    rank.add_backward(0);
    rank.add_forward(1);
    rank.add_backward(1);
  }
  // 5. What others wait for comes first; W's fill the time behind it.
  for (int i = 0; i < r; ++i) {
    rank.add_dgrad(0);
    rank.add_dgrad(1);
  }
  for (int i = 0; i < below + 1; ++i) rank.add_backward(0);
  for (int chunk : {1, 0}) {
    while (rank.has_pending(chunk)) rank.add_wgrad(chunk);
  }
  return rank.take();
}

}  // namespace

Schedule build_zb_v(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int built = std::max(request.num_micro_batches, 2 * ranks - 1);
  Schedule schedule{{ranks, 2, Placement::V}, built, {}};
  for (int r = 0; r < ranks; ++r) schedule.ranks.push_back(zb_v_rank(schedule.map, r, built));
  return keep_micro_batches(schedule, request.num_micro_batches);
}

}  // namespace weft
