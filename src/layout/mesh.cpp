#include "layout/mesh.h"

#include "base/error.h"

namespace weft {
namespace {

// Index within the ranks of one pipeline stage; experts are spread over these in this order.
int index_in_stage(const Mesh& mesh, const Coordinates& at) { return at.dp * mesh.tp_size + at.tp; }

template <class Same>
std::vector<Rank> ranks_where(const Mesh& mesh, Rank global_rank, Same same) {
  const Coordinates own = coordinates_of(mesh, global_rank);
  std::vector<Rank> ranks;
  for (int r = 0; r < mesh.world_size(); ++r) {
    if (same(own, coordinates_of(mesh, Rank(r)))) ranks.emplace_back(r);
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
  return ranks_where(mesh, global_rank, [](const Coordinates& own, const Coordinates& other) {
    return other.pp == own.pp && other.tp == own.tp;
  });
}

std::vector<Rank> ep_group(const Mesh& mesh, Rank global_rank) {
  return ranks_where(mesh, global_rank, [](const Coordinates& own, const Coordinates& other) {
    return other.pp == own.pp && other.edp == own.edp;
  });
}

std::vector<Rank> edp_group(const Mesh& mesh, Rank global_rank) {
  return ranks_where(mesh, global_rank, [](const Coordinates& own, const Coordinates& other) {
    return other.pp == own.pp && other.ep == own.ep;
  });
}

}  // namespace weft
