#include "train/unsharded.h"

#include <ATen/Functions.h>

#include <atomic>

#include "comm/local.h"
#include "train/safetensors.h"
#include "train/solo_store.h"
#include "train/support.h"

namespace weft {
namespace {

using testing::add_parameter;
using testing::fill_by_name;
using ::testing::HasSubstr;
using testing::TempDir;

TEST(SaveUnsharded, OneFileHoldsWhatTheRanksHold) {
  TempDir directory;
  const std::string path = directory.file("g.safetensors");
  run_ranks(3, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1), Rank(2)});
    ParameterStore store;
    store.main_type = at::kDouble;
    if (rank != 1) add_parameter(store, {"b"}, 2, 3);
    if (rank == 1) add_parameter(store, {"c"}, 1, 4);
    if (rank == 2) add_parameter(store, {"a", "d"}, 2, 2);
    fill_by_name(store);
    const auto owners = slice_owners(store, *world);
    EXPECT_EQ(owners.at("b").rank, 0);
    EXPECT_EQ(owners.at("d").rank, 2);
    save_unsharded(path, store, &NamedSlice::grad, *world);
  });
  ParameterStore expected;
  expected.main_type = at::kDouble;
  add_parameter(expected, {"a", "d"}, 2, 2);
  add_parameter(expected, {"b"}, 2, 3);
  add_parameter(expected, {"c"}, 1, 4);
  fill_by_name(expected);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), 4u);
  for (const Parameter& parameter : expected.parameters) {
    for (const NamedSlice& slice : parameter.slices) {
      EXPECT_TRUE(at::equal(file.tensor(slice.name), slice.grad)) << slice.name;
      EXPECT_EQ(file.tensor(slice.name).scalar_type(), at::kDouble);
    }
  }
}

TEST(SaveUnsharded, AFileThatCannotBeWrittenFailsOnEveryRank) {
  std::atomic<int> thrown{0};
  run_ranks(2, {}, [&](int, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    ParameterStore store;
    add_parameter(store, {"a"}, 1, 1);
    try {
      save_unsharded("/nonexistent/g.safetensors", store, &NamedSlice::grad, *world);
    } catch (const RuntimeFault& fault) {
      EXPECT_THAT(fault.what(), HasSubstr("rank 0: cannot create /nonexistent"));
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 2);
}

}  // namespace
}  // namespace weft
