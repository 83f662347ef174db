// What the search works on: the order of one rank as a word over the two chunks that a V gives it.
//
// Micro-batches are alike, so each stage takes them in rising order in all of F, I and W, and a
// letter says everything: its n-th F0 is micro-batch n of chunk 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.h"
#include "search/cell_costs.h"

namespace weft {

// Chunk 0 is the way down the V, chunk 1 the way up. F0B1 is a forward of chunk 0 woven with a
// backward of chunk 1.
enum class Op : std::uint8_t { F0, F1, B0, B1, I0, I1, W0, W1, F0B0, F0B1, F1B0, F1B1 };
inline constexpr int kNumOps = 12;

// Chunks that an op works on, -1 for none: its forward, its input gradient, its weight gradient.
struct OpParts {
  int forward = -1;
  int dgrad = -1;
  int wgrad = -1;
};
constexpr std::array<OpParts, kNumOps> kOpParts = {{
    {0, -1, -1},
    {1, -1, -1},
    {-1, 0, 0},
    {-1, 1, 1},
    {-1, 0, -1},
    {-1, 1, -1},
    {-1, -1, 0},
    {-1, -1, 1},
    {0, 0, 0},
    {0, 1, 1},
    {1, 0, 0},
    {1, 1, 1},
}};
constexpr const OpParts& parts_of(Op op) { return kOpParts[static_cast<std::size_t>(op)]; }

constexpr Op forward_op(int chunk) { return chunk == 0 ? Op::F0 : Op::F1; }
constexpr Op backward_op(int chunk) { return chunk == 0 ? Op::B0 : Op::B1; }
constexpr Op dgrad_op(int chunk) { return chunk == 0 ? Op::I0 : Op::I1; }
constexpr Op wgrad_op(int chunk) { return chunk == 0 ? Op::W0 : Op::W1; }
constexpr Op pair_op(int forward_chunk, int backward_chunk) {
  return static_cast<Op>(static_cast<int>(Op::F0B0) + 2 * forward_chunk + backward_chunk);
}

using Word = std::vector<Op>;     // the order of one rank
using Words = std::vector<Word>;  // [P]

struct SearchProblem {
  int num_ranks = 1;
  int num_micro_batches = 1;
  int max_live_chunks = 2;
  bool pairs = false;  // may be used
  double p2p = 0;
  std::vector<std::array<double, kNumOps>> cost;  // [P]

  int num_stages() const { return 2 * num_ranks; }
  int stage_of(int rank, int chunk) const { return chunk == 0 ? rank : 2 * num_ranks - 1 - rank; }
  double cost_of(int rank, Op op) const {
    return cost[static_cast<std::size_t>(rank)][static_cast<std::size_t>(op)];
  }
};

SearchProblem make_problem(int num_ranks, int num_micro_batches, int max_live_chunks, bool pairs,
                           const CellCosts& costs);

Schedule schedule_of(const Words& words, int num_micro_batches);
// Empty if the schedule is no V, or a stage does not take its micro-batches in rising order.
std::optional<Words> words_of(const Schedule& schedule);

}  // namespace weft
