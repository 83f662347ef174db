// Which pipeline rank holds which stage.
#pragma once

#include "base/ids.h"

namespace weft {

// Looped: stage s on rank s % P. V: rank r holds stages r and 2P-1-r, so two chunks a rank.
enum class Placement { Looped, V };

struct StageMap {
  int num_ranks = 1;        // P
  int chunks_per_rank = 1;  // 2 under V
  Placement placement = Placement::Looped;

  bool operator==(const StageMap&) const = default;

  int num_stages() const { return num_ranks * chunks_per_rank; }
  Rank rank_of(Stage stage) const;
  Chunk chunk_of(Stage stage) const;
  Stage stage_of(Rank rank, Chunk chunk) const;
  // True if both stages are on one rank: their hand-over needs no message.
  bool is_local(Stage from, Stage to) const { return rank_of(from) == rank_of(to); }
};

}  // namespace weft
