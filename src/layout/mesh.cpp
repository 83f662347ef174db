#include "layout/mesh.h"

#include "base/error.h"

namespace weft {
namespace {

// Index within the ranks of one pipeline stage; experts are spread over these in this order.
int index_in_stage(const Mesh& mesh, const Coordinates& at) { return at.dp * mesh.tp_size + at.tp; }

// Those whose index within a pipeline stage is `first`, `first + step`, ..., `count` of them.
std::vector<Rank> ranks_of_stage(const Mesh& mesh, int pp, int first, int step, int count) {
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) {
    ranks.emplace_back(pp * mesh.dp_size * mesh.tp_size + first + i * step);
  }
  return ranks;
}

}  // namespace

Coordinates coordinates_of(const Mesh& mesh, Rank global_rank) {
  weft_assert(global_rank.value >= 0 && global_rank.value < mesh.world_size(),
              "global rank within the mesh");
  weft_assert(mesh.dp_size * mesh.tp_size % mesh.ep_size == 0, "EP divides DP * TP");
  Coordinates at;
  at.tp = global_rank.value % mesh.tp_size;
  at.dp = global_rank.value / mesh.tp_size % mesh.dp_size;
  at.pp = global_rank.value / (mesh.tp_size * mesh.dp_size);
  at.ep = index_in_stage(mesh, at) % mesh.ep_size;
  at.edp = index_in_stage(mesh, at) / mesh.ep_size;
  return at;
}

Rank global_rank_of(const Mesh& mesh, int pp, int dp, int tp) {
  return Rank((pp * mesh.dp_size + dp) * mesh.tp_size + tp);
}

std::vector<Rank> dp_group(const Mesh& mesh, Rank global_rank) {
  const Coordinates at = coordinates_of(mesh, global_rank);
  return ranks_of_stage(mesh, at.pp, at.tp, mesh.tp_size, mesh.dp_size);
}

std::vector<Rank> ep_group(const Mesh& mesh, Rank global_rank) {
  const Coordinates at = coordinates_of(mesh, global_rank);
  return ranks_of_stage(mesh, at.pp, at.edp * mesh.ep_size, 1, mesh.ep_size);
}

std::vector<Rank> edp_group(const Mesh& mesh, Rank global_rank) {
  const Coordinates at = coordinates_of(mesh, global_rank);
  return ranks_of_stage(mesh, at.pp, at.ep, mesh.ep_size,
                        mesh.dp_size * mesh.tp_size / mesh.ep_size);
}

}  // namespace weft
