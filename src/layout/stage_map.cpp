#include "layout/stage_map.h"

#include "base/error.h"

namespace weft {

Rank StageMap::rank_of(Stage stage) const {
  weft_assert(stage.value >= 0 && stage.value < num_stages(), "stage within the map");
  if (placement == Placement::Looped) return Rank(stage.value % num_ranks);
  return Rank(stage.value < num_ranks ? stage.value : 2 * num_ranks - 1 - stage.value);
}

Chunk StageMap::chunk_of(Stage stage) const { return Chunk(stage.value / num_ranks); }

Stage StageMap::stage_of(Rank rank, Chunk chunk) const {
  if (placement == Placement::Looped) return Stage(chunk.value * num_ranks + rank.value);
  return Stage(chunk.value == 0 ? rank.value : 2 * num_ranks - 1 - rank.value);
}

}  // namespace weft
