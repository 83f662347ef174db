#include <algorithm>
#include <optional>

#include "schedule/builders/builders.h"
#include "schedule/builders/words.h"

namespace weft {
namespace {

// The order in which every rank takes its (chunk, micro-batch) units: a group of micro-batches
// through chunk 0, then the same group through chunk 1, and so on. A group takes at least P slots,
// since a micro-batch is back on rank 0 no earlier; slots beyond its micro-batches stay empty. Seen
// this way every group is full and the order is free of cycles, whatever M and the group size.
class UnitOrder {
 public:
  UnitOrder(const BuildRequest& request, int chunks)
      : chunks_(chunks),
        total_(request.num_micro_batches),
        group_(std::min(request.group_size, request.num_micro_batches)),
        slots_(std::max(group_, request.num_ranks)) {}

  int slots_per_group() const { return slots_; }
  int num_units() const { return (total_ + group_ - 1) / group_ * slots_ * chunks_; }

  struct Unit {
    Chunk chunk;
    int micro_batch = 0;
  };

  // Empty for a slot without a micro-batch. Backwards take the chunks from the last to the first.
  std::optional<Unit> unit(int index, bool backward) const {
    const int chunk = index / slots_ % chunks_;
    const int within = index % slots_;
    const int micro_batch = index / (slots_ * chunks_) * group_ + within;
    if (within >= group_ || micro_batch >= total_) return std::nullopt;
    return Unit{Chunk(backward ? chunks_ - 1 - chunk : chunk), micro_batch};
  }

 private:
  int chunks_;
  int total_;
  int group_;
  int slots_;
};

class InterleavedRank {
 public:
  InterleavedRank(const StageMap& map, const UnitOrder& order, Rank rank)
      : map_(map), order_(order), rank_(rank) {}

  void add_forward(int index) { add(forward_at(index)); }
  void add_backward(int index) { add(backward_at(index)); }

  void add_pair(int forward_index, int backward_index) {
    const auto f = forward_at(forward_index);
    const auto b = backward_at(backward_index);
    if (f && b) {
      cells_.push_back(ActionPair{*f, *b});
    } else {
      add(f);
      add(b);
    }
  }

  std::vector<Cell> take() { return std::move(cells_); }

 private:
  void add(const std::optional<Action>& action) {
    if (action) cells_.push_back(*action);
  }
  std::optional<Action> forward_at(int index) const {
    const auto unit = order_.unit(index, false);
    if (!unit) return std::nullopt;
    return forward(map_.stage_of(rank_, unit->chunk), unit->micro_batch);
  }
  std::optional<Action> backward_at(int index) const {
    const auto unit = order_.unit(index, true);
    if (!unit) return std::nullopt;
    return backward(map_.stage_of(rank_, unit->chunk), unit->micro_batch);
  }

  const StageMap& map_;
  const UnitOrder& order_;
  Rank rank_;
  std::vector<Cell> cells_;
};

}  // namespace

Schedule build_interleaved(const BuildRequest& request) {
  const int ranks = request.num_ranks;
  const int chunks = request.chunks_per_rank;
  if (chunks == 1 && !request.overlap) return build_one_f_one_b(request);

  Schedule schedule{{ranks, chunks, Placement::Looped}, request.num_micro_batches, {}};
  const UnitOrder order(request, chunks);
  const int units = order.num_units();
  for (int r = 0; r < ranks; ++r) {
    // Megatron's count, in units; the forward of a steady step must not feed its own backward.
    const int warm_up = std::min(
        2 * (ranks - 1 - r) + (chunks - 1) * order.slots_per_group() + (request.overlap ? 1 : 0),
        units);
    InterleavedRank rank(schedule.map, order, Rank(r));
    for (int k = 0; k < warm_up; ++k) rank.add_forward(k);
    for (int k = warm_up; k < units; ++k) {
      if (request.overlap) {
        rank.add_pair(k, k - warm_up);
      } else {
        rank.add_forward(k);
        rank.add_backward(k - warm_up);
      }
    }
    for (int k = units - warm_up; k < units; ++k) rank.add_backward(k);
    schedule.ranks.push_back(rank.take());
  }
  return schedule;
}

}  // namespace weft
