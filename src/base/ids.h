// Strong ids: a stage cannot be passed where a rank is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace weft {

template <class Tag>
struct Id {
  int value = 0;

  constexpr Id() = default;
  constexpr explicit Id(int v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};

// Index of a pipeline rank, or of a process where a comment says "global".
using Rank = Id<struct RankTag>;
// Global index of a run of layers along the model, 0 .. num_stages - 1.
using Stage = Id<struct StageTag>;
// Local index of a stage on its rank, 0 .. chunks_per_rank - 1.
using Chunk = Id<struct ChunkTag>;
// One pipeline unit of a data parallel rank's batch, 0 .. M - 1.
using MicroBatch = Id<struct MicroBatchTag>;

// Of a hand-over between stages: activations travel forward, their gradients backward.
enum class Direction { Forward, Backward };

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept { return std::hash<int>{}(id.value); }
};
