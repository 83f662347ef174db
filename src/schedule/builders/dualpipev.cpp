#include <algorithm>
#include <deque>

#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {
namespace {

// Chunk 0 is the way down the V, chunk 1 the way up. The counters are the next micro-batch of each
// chunk's forwards and backwards.
class DualPipeVRank {
 public:
  DualPipeVRank(const StageMap& map, Rank rank)
      : stage_{map.stage_of(rank, Chunk(0)), map.stage_of(rank, Chunk(1))} {}

  void add_forward(int chunk) { cells_.push_back(next_forward(chunk)); }
  void add_backward(int chunk) { cells_.push_back(next_backward(chunk)); }
  void add_split_backward(int chunk) {
    const int m = backwards_[chunk]++;
    cells_.push_back(dgrad(stage_[chunk], m));
    cells_.push_back(wgrad(stage_[chunk], m));
  }
  void add_pair(int forward_chunk, int backward_chunk) {
    const Action f = next_forward(forward_chunk);
    cells_.push_back(ActionPair{f, next_backward(backward_chunk)});
  }
  std::vector<Cell> take() { return std::move(cells_); }

 private:
  Action next_forward(int chunk) { return forward(stage_[chunk], forwards_[chunk]++); }
  Action next_backward(int chunk) { return backward(stage_[chunk], backwards_[chunk]++); }

  Stage stage_[2];
  int forwards_[2] = {0, 0};
  int backwards_[2] = {0, 0};
  std::vector<Cell> cells_;
};

// Needs M >= 2P - 1.
std::vector<Cell> dualpipev_rank(const StageMap& map, int r, int micro_batches) {
  const int ranks = map.num_ranks;
  const int below = ranks - 1 - r;  // ranks further down the V
  DualPipeVRank rank(map, Rank(r));
  // 1. Warm-up.
  for (int i = 0; i < 2 * below; ++i) rank.add_forward(0);
  // 2. Interleaved forward.
  for (int i = 0; i < r + 1; ++i) {
    rank.add_forward(0);
    rank.add_forward(1);
  }
  // 3. The first backwards are split, so that the rank below gets its gradient a W earlier.
  for (int i = 0; i < below; ++i) {
    rank.add_split_backward(1);
    rank.add_forward(1);
  }
  // 4. Steady. The last rank's first forward and backward are not woven: the forward can run while
  // the gradient is still on its way.
  for (int i = 0; i < micro_batches - 2 * ranks + r + 1; ++i) {
    if (i == 0 && below == 0) {
      rank.add_forward(0);
      rank.add_backward(1);
    } else {
      rank.add_pair(0, 1);
    }
    rank.add_pair(1, 0);
  }
  // 5. No chunk 0 forwards are left to weave with.
  for (int i = 0; i < below; ++i) {
    rank.add_backward(1);
    rank.add_pair(1, 0);
  }
  // 6. Interleaved backward.
  for (int i = 0; i < r + 1; ++i) {
    rank.add_backward(1);
    rank.add_backward(0);
  }
  // 7. Cool-down.
  for (int i = 0; i < below; ++i) rank.add_backward(0);
  return rank.take();
}

bool is_backward(const Cell& cell) {
  const Action* action = std::get_if<Action>(&cell);
  return action != nullptr && action->kind == ActionKind::Backward;
}

// The last P backwards that stand alone give their input gradient only; in cool-down, the last
// P - 1 - r of them, the oldest pending W goes before each, and the rest runs at the end. One queue
// over both chunks.
std::vector<Cell> detach_wgrads(const std::vector<Cell>& cells, int ranks, int r) {
  int left = static_cast<int>(std::count_if(cells.begin(), cells.end(), is_backward));
  std::deque<Action> pending;
  std::vector<Cell> detached;
  const auto run_oldest = [&] {
    detached.push_back(pending.front());
    pending.pop_front();
  };
  for (const Cell& cell : cells) {
    if (!is_backward(cell) || left-- > ranks) {
      detached.push_back(cell);
      continue;
    }
    if (left < ranks - 1 - r && !pending.empty()) run_oldest();
    const Action& action = std::get<Action>(cell);
    detached.push_back(dgrad(action.stage, action.micro_batch.value));
    pending.push_back(wgrad(action.stage, action.micro_batch.value));
  }
  while (!pending.empty()) run_oldest();
  return detached;
}

}  // namespace

Schedule build_dualpipev(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int built = std::max(request.num_micro_batches, 2 * ranks - 1);
  Schedule schedule{{ranks, 2, Placement::V}, built, {}};
  for (int r = 0; r < ranks; ++r) schedule.ranks.push_back(dualpipev_rank(schedule.map, r, built));
  schedule = keep_micro_batches(schedule, request.num_micro_batches);
  if (request.detach) {
    for (int r = 0; r < ranks; ++r) {
      schedule.ranks[r] = detach_wgrads(schedule.ranks[r], ranks, r);
    }
  }
  return schedule;
}

}  // namespace weft
