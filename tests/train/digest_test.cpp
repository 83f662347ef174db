#include "train/digest.h"

#include <ATen/Functions.h>

#include "comm/local.h"
#include "train/files.h"
#include "train/solo_store.h"
#include "train/support.h"

namespace weft {
namespace {

using testing::add_parameter;
using testing::fill_by_name;
using ::testing::HasSubstr;
using testing::message_of;

std::uint64_t hash_text(const std::string& text) {
  return hash_bytes(std::as_bytes(std::span(text)));
}

TEST(Hash, IsXxh3) {
  // XXH3_64bits of nothing with seed 0, from the reference's sanity checks.
  EXPECT_EQ(to_hex(hash_text("")), "2d06800538d394c2");
}

TEST(Hash, PiecesMakeTheWhole) {
  const std::string text(10'000, 'x');
  Hasher hasher;
  for (std::size_t i = 0; i < text.size(); i += 777) {
    hasher.update(text.data() + i, std::min<std::size_t>(777, text.size() - i));
  }
  EXPECT_EQ(hasher.digest(), hash_text(text));
}

TEST(Digest, SeesElementsNotStrides) {
  const at::Tensor tensor = at::randn({3, 4});
  EXPECT_EQ(tensor_digest(tensor.t()), tensor_digest(tensor.t().contiguous()));
  EXPECT_NE(tensor_digest(tensor), tensor_digest(tensor.t()));
}

std::uint64_t alone() {
  ParameterStore store;
  add_parameter(store, {"a", "b", "c"}, 2, 3);
  add_parameter(store, {"d"}, 1, 4);
  fill_by_name(store);
  return gradient_digest(store, *make_group_of_one("world", Rank(0)));
}

TEST(Digest, IsTheSameHoweverTheModelIsCut) {
  const std::uint64_t expected = alone();
  run_ranks(3, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1), Rank(2)});
    ParameterStore store;
    if (rank == 0) add_parameter(store, {"d"}, 1, 4);
    if (rank == 1) add_parameter(store, {"b", "a"}, 2, 3);
    if (rank == 2) add_parameter(store, {"c"}, 2, 3);
    if (rank == 2) add_parameter(store, {"b"}, 2, 3);  // a replica
    fill_by_name(store);
    EXPECT_EQ(gradient_digest(store, *world), expected);
    EXPECT_NE(parameter_digest(store, *world), expected);
  });
}

TEST(Digest, OneBitAndOneNameCount) {
  const GroupPtr world = make_group_of_one("world", Rank(0));
  ParameterStore store;
  add_parameter(store, {"a"}, 1, 4);
  fill_by_name(store);
  const std::uint64_t before = parameter_digest(store, *world);
  store.parameters[0].slices[0].name = "b";
  EXPECT_NE(parameter_digest(store, *world), before);
  store.parameters[0].slices[0].name = "a";
  EXPECT_EQ(parameter_digest(store, *world), before);
  store.parameters[0].main[0][3] =
      std::nextafter(store.parameters[0].main[0][3].item<float>(), 9.f);
  EXPECT_NE(parameter_digest(store, *world), before);
}

TEST(Digest, ReplicasThatDifferAreAFault) {
  const std::string message = message_of<RuntimeFault>([] {
    run_ranks(2, {}, [](int rank, const CommunicatorPtr& communicator) {
      const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
      ParameterStore store;
      add_parameter(store, {"a"}, 1, 4);
      fill_by_name(store, rank);
      parameter_digest(store, *world);
    });
  });
  EXPECT_THAT(message, HasSubstr("the weight of a differs between replicas"));
}

}  // namespace
}  // namespace weft
