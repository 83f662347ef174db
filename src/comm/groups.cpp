#include "comm/groups.h"

#include <algorithm>

namespace weft {
namespace {

using MembersOf = std::vector<Rank> (*)(const Mesh&, Rank);

// One group per set of ranks, in the order of their first members; returns this rank's.
GroupPtr create_partition(Communicator& communicator, const Mesh& mesh, const std::string& name,
                          MembersOf members_of) {
  GroupPtr own;
  std::vector<bool> is_in_one(static_cast<std::size_t>(mesh.world_size()));
  for (int rank = 0; rank < mesh.world_size(); ++rank) {
    if (is_in_one[static_cast<std::size_t>(rank)]) continue;
    const std::vector<Rank> members = members_of(mesh, Rank(rank));
    for (const Rank member : members) is_in_one[static_cast<std::size_t>(member.value)] = true;
    if (GroupPtr group = communicator.new_group(name, members)) own = std::move(group);
  }
  return own;
}

// Joins the ranks of two stages that have the same dp and tp; nothing to join if one rank holds
// both.
GroupPtr create_link(Communicator& communicator, const Mesh& mesh, const std::string& name,
                     Rank one_end, Rank other_end) {
  GroupPtr own;
  const int low = std::min(one_end.value, other_end.value);
  const int high = std::max(one_end.value, other_end.value);
  if (low == high) return own;
  for (int dp = 0; dp < mesh.dp_size; ++dp) {
    for (int tp = 0; tp < mesh.tp_size; ++tp) {
      const std::vector<Rank> members = {global_rank_of(mesh, low, dp, tp),
                                         global_rank_of(mesh, high, dp, tp)};
      if (GroupPtr group = communicator.new_group(name, members)) own = std::move(group);
    }
  }
  return own;
}

}  // namespace

Groups create_groups(Communicator& communicator, const Mesh& mesh, const StageMap& map) {
  Groups groups;
  std::vector<Rank> everyone;
  for (int rank = 0; rank < mesh.world_size(); ++rank) everyone.emplace_back(rank);
  groups.world = communicator.new_group(kWorldGroup, everyone);
  groups.dp = create_partition(communicator, mesh, "dp", dp_group);
  groups.edp = create_partition(communicator, mesh, "edp", edp_group);
  groups.ep = create_partition(communicator, mesh, "ep", ep_group);
  groups.counts = create_partition(communicator, mesh, "counts", ep_group);

  const Stage last(map.num_stages() - 1);
  groups.tie = create_link(communicator, mesh, "tie", map.rank_of(Stage(0)), map.rank_of(last));
  for (int edge = 0; edge < last.value; ++edge) {
    const Rank from = map.rank_of(Stage(edge));
    const Rank to = map.rank_of(Stage(edge + 1));
    for (const Direction direction : {Direction::Forward, Direction::Backward}) {
      const std::string name = "edge " + std::to_string(edge) +
                               (direction == Direction::Forward ? " forward" : " backward");
      GroupPtr group = create_link(communicator, mesh, name, from, to);
      if (group) groups.edges[{edge, direction}] = std::move(group);
    }
  }
  return groups;
}

}  // namespace weft
