#include "train/gather.h"

#include "comm/local.h"
#include "train/support.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Pair;

GroupPtr world_of(Communicator& communicator) {
  std::vector<Rank> members;
  for (int r = 0; r < communicator.world_size(); ++r) members.emplace_back(r);
  return communicator.new_group("world", members);
}

TEST(GatherBytes, LengthsMayDiffer) {
  run_ranks(3, {}, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = world_of(*communicator);
    const std::string mine(static_cast<std::size_t>(rank) * 5, static_cast<char>('a' + rank));
    EXPECT_THAT(gather_bytes(*world, mine), ElementsAre("", "bbbbb", "cccccccccc"));
    EXPECT_THAT(gather_bytes(*world, ""), ElementsAre("", "", ""));
  });
}

TEST(GatherNamed, NamesAndBitsArriveWhole) {
  run_ranks(2, {}, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = world_of(*communicator);
    const std::vector<NamedBits> first = {{"a.weight", 1}, {"", UINT64_MAX}};
    const auto gathered = gather_named(*world, rank == 0 ? first : std::vector<NamedBits>{});
    EXPECT_EQ(gathered[0], first);
    EXPECT_TRUE(gathered[1].empty());
  });
}

TEST(MergeReplicas, KeepsEachNameOnceInBytewiseOrder) {
  EXPECT_THAT(merge_replicas({{{"b", 2}, {"B", 3}}, {{"a", 1}, {"b", 2}}}, "x"),
              ElementsAre(Pair("B", 3), Pair("a", 1), Pair("b", 2)));
}

TEST(MergeReplicas, NamesATensorWhoseReplicasDiffer) {
  EXPECT_THAT(message_of<RuntimeFault>(
                  [] { merge_replicas({{}, {{"w", 2}}, {{"w", 3}}}, "the gradient"); }),
              HasSubstr("the gradient of w differs between replicas: rank 1 has 0000000000000002, "
                        "rank 2 has 0000000000000003"));
}

}  // namespace
}  // namespace weft
