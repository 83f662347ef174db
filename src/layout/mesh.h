// Coordinates of processes. Global rank = (pp * DP + dp) * TP + tp, as in Megatron's order
// tp-(cp-)ep-dp-pp; an expert parallel group is EP neighbouring dp indices.
#pragma once

#include <vector>

#include "base/ids.h"

namespace weft {

struct Mesh {
  int pp_size = 1;
  int dp_size = 1;
  int ep_size = 1;  // divides dp_size * tp_size
  int tp_size = 1;

  bool operator==(const Mesh&) const = default;

  int world_size() const { return pp_size * dp_size * tp_size; }
};

struct Coordinates {
  int pp = 0;
  int dp = 0;
  int tp = 0;
  int ep = 0;   // position in the expert parallel group
  int edp = 0;  // which expert parallel group of the same pipeline rank

  bool operator==(const Coordinates&) const = default;
};

Coordinates coordinates_of(const Mesh& mesh, Rank global_rank);
Rank global_rank_of(const Mesh& mesh, int pp, int dp, int tp);

// Global ranks of the group that `global_rank` belongs to, ascending.
std::vector<Rank> dp_group(const Mesh& mesh, Rank global_rank);   // same pp, tp
std::vector<Rank> ep_group(const Mesh& mesh, Rank global_rank);   // exchange tokens
std::vector<Rank> edp_group(const Mesh& mesh, Rank global_rank);  // hold the same experts

}  // namespace weft
