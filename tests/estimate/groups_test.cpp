#include <algorithm>

#include "estimate/models.h"
#include "estimate/run_report.h"

namespace weft {
namespace {

std::vector<int> numbers(const std::vector<Rank>& ranks) {
  std::vector<int> values;
  for (const Rank rank : ranks) values.push_back(rank.value);
  return values;
}

const GroupReport& named(const std::vector<GroupReport>& groups, const std::string& name) {
  return *std::ranges::find(groups, name, &GroupReport::name);
}

// The lists are those that layout/mesh.h gives each rank.
TEST(Groups, AreThoseOfTheMesh) {
  for (const Mesh& mesh :
       {Mesh{2, 4, 2, 1}, Mesh{3, 6, 3, 1}, Mesh{1, 4, 4, 1}, Mesh{2, 2, 4, 2}}) {
    const auto groups = group_reports(mesh, StageMap{.num_ranks = mesh.pp_size}, {});
    using MembersOf = std::vector<Rank> (*)(const Mesh&, Rank);
    for (const auto& [name, members_of] : {std::pair<std::string, MembersOf>{"dp", dp_group},
                                           {"ep", ep_group},
                                           {"edp", edp_group}}) {
      std::vector<std::vector<int>> expected;
      for (int rank = 0; rank < mesh.world_size(); ++rank) {
        const std::vector<int> members = numbers(members_of(mesh, Rank(rank)));
        if (members.front() == rank) expected.push_back(members);
      }
      auto actual = named(groups, name).members;
      std::ranges::sort(actual);
      EXPECT_EQ(actual, expected) << name;
    }
  }
}

// Of the V on two ranks stages 1 and 2 share rank 1, and both ends are on rank 0: no tie.
TEST(Groups, EdgesJoinStagesOnDifferentRanks) {
  const Mesh mesh{.pp_size = 2, .dp_size = 2};
  const auto groups = group_reports(
      mesh, StageMap{.num_ranks = 2, .chunks_per_rank = 2, .placement = Placement::V}, {});
  std::vector<std::string> names;
  for (const GroupReport& group : groups) names.push_back(group.name);
  EXPECT_EQ(names, (std::vector<std::string>{"pp", "dp", "ep", "edp", "edge 0", "edge 2"}));
  EXPECT_EQ(named(groups, "edge 0").members, (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
}

}  // namespace
}  // namespace weft
