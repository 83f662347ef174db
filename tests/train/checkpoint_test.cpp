#include "train/checkpoint.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "comm/local.h"
#include "train/digest.h"
#include "train/safetensors.h"
#include "train/solo_store.h"
#include "train/support.h"

namespace weft {
namespace {

using testing::add_parameter;
using ::testing::AllOf;
using testing::fill_by_name;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::read_file;
using testing::SmallDisk;
using testing::TempDir;
using testing::write_file;
namespace fs = testing::fs;

// Three tensors and their optimizer in one process.
struct TinyModel {
  explicit TinyModel(at::ScalarType type = at::kFloat)
      : store(make_store(type)), optimizer(store, {}) {}

  static ParameterStore make_store(at::ScalarType type) {
    ParameterStore made;
    made.main_type = type;
    add_parameter(made, {"a", "b"}, 2, 3);
    add_parameter(made, {"c"}, 1, 4);
    fill_by_name(made);
    return made;
  }

  // A step whose gradients depend on the step's number alone.
  void step() {
    const std::int64_t number = optimizer.num_steps();
    for (Parameter& parameter : store.parameters) {
      for (NamedSlice& slice : parameter.slices) {
        const at::Tensor index = at::arange(slice.grad.numel(), at::kDouble);
        slice.grad.copy_(at::sin(index + static_cast<double>(number)).view(slice.grad.sizes()));
      }
    }
    optimizer.step(0.01);
  }

  void save(const std::string& directory, const CheckpointHook& hook = {}) {
    const std::int64_t n = optimizer.num_steps();
    save_checkpoint(directory, store, optimizer, {n, 8 * n, 42, {{"hidden-size", "3"}}}, *world,
                    hook);
  }

  TrainState load(const std::string& directory) {
    return load_checkpoint(directory, store, &optimizer, *world);
  }

  std::uint64_t digest() const { return parameter_digest(store, *world); }

  GroupPtr world = make_group_of_one("world", Rank(0));
  ParameterStore store;
  AdamW optimizer;
};

TEST(Checkpoint, ResumesToTheSameBits) {
  TempDir directory;
  TinyModel straight;
  straight.step();
  straight.step();
  straight.save(directory.file("ckpt"));
  straight.step();

  TinyModel resumed;
  const TrainState state = resumed.load(directory.file("ckpt"));
  EXPECT_EQ(state, (TrainState{2, 16, 42, {{"hidden-size", "3"}}}));
  EXPECT_EQ(resumed.optimizer.num_steps(), 2);
  resumed.step();
  EXPECT_EQ(resumed.digest(), straight.digest());
  EXPECT_EQ(read_file(directory.file("ckpt/latest_checkpointed_iteration.txt")), "2\n");
  EXPECT_FALSE(fs::exists(directory.file("ckpt/iter_0000002.tmp")));
}

TEST(Checkpoint, TheNewestIsLoadedOlderOnesStay) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  const std::uint64_t first = run.digest();
  run.step();
  run.save(directory.file("ckpt"));
  TinyModel resumed;
  EXPECT_EQ(resumed.load(directory.file("ckpt")).step, 2);
  EXPECT_EQ(resumed.digest(), run.digest());
  EXPECT_EQ(resumed.load(directory.file("ckpt/iter_0000001")).step, 1);
  EXPECT_EQ(resumed.digest(), first);
}

TEST(Checkpoint, SavingAnIterationAgainReplacesIt) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  run.store.parameters[0].main.add_(1);
  run.save(directory.file("ckpt"));
  TinyModel resumed;
  resumed.load(directory.file("ckpt"));
  EXPECT_EQ(resumed.digest(), run.digest());
  EXPECT_FALSE(fs::exists(directory.file("ckpt/iter_0000001.tmp")));
}

// Saved by two ranks, one tensor on both; loaded by one, and by two with another cut.
TEST(Checkpoint, AnyLayoutLoadsAnyOther) {
  TempDir directory;
  const std::string path = directory.file("ckpt");
  const auto store_of = [](int rank, bool swapped) {
    ParameterStore store;
    if ((rank == 0) != swapped) add_parameter(store, {"c"}, 1, 4);
    if ((rank == 1) != swapped) add_parameter(store, {"b"}, 2, 3);
    add_parameter(store, {"a"}, 2, 3);
    return store;
  };
  std::atomic<std::uint64_t> digest{0};
  run_ranks(2, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    ParameterStore store = store_of(rank, false);
    fill_by_name(store);
    AdamW optimizer(store, {});
    optimizer.step(0.1);
    digest = parameter_digest(store, *world);
    save_checkpoint(path, store, optimizer, {.step = 1}, *world);
  });
  EXPECT_TRUE(fs::exists(path + "/iter_0000001/rank_00000.safetensors"));
  EXPECT_TRUE(fs::exists(path + "/iter_0000001/rank_00001.safetensors"));
  TinyModel one;
  EXPECT_EQ(one.load(path).step, 1);
  EXPECT_EQ(one.digest(), digest);
  // After one step from zero, the means are the gradients times 1 - beta.
  TinyModel fresh;
  for (std::size_t i = 0; i < 3; ++i) {
    const SliceState slice = one.optimizer.slices()[i];
    const std::size_t p = i / 2;
    const at::Tensor& gradient = fresh.store.parameters[p].slices[i % 2].grad;
    EXPECT_TRUE(at::allclose(slice.exp_avg, gradient * 0.1, 1e-6)) << slice.name;
  }
  run_ranks(2, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    ParameterStore store = store_of(rank, true);
    AdamW optimizer(store, {});
    load_checkpoint(path, store, &optimizer, *world);
    EXPECT_EQ(parameter_digest(store, *world), digest);
  });
}

TEST(Checkpoint, WeightsAloneLoadWithoutAnOptimizer) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  TinyModel other(at::kDouble);
  load_checkpoint(directory.file("ckpt"), other.store, nullptr, *other.world);
  EXPECT_TRUE(
      at::equal(other.store.parameters[0].main, run.store.parameters[0].main.to(at::kDouble)));
}

TEST(Checkpoint, EveryTensorThatDoesNotFitIsNamed) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  ParameterStore store;
  add_parameter(store, {"a"}, 5, 3);
  add_parameter(store, {"c"}, 1, 4);
  add_parameter(store, {"new"}, 1, 4);
  const std::string message =
      message_of([&] { load_checkpoint(directory.file("ckpt"), store, nullptr, *run.world); });
  EXPECT_THAT(message, AllOf(HasSubstr("a: is [2, 3] in the checkpoint, the model needs [5, 3]"),
                             HasSubstr("b: the checkpoint has it, the model does not"),
                             HasSubstr("new: the model has it, the checkpoint does not"),
                             Not(HasSubstr(": c:"))));
}

TEST(Checkpoint, OfAMisfitTheFirstTensorsAreNamed) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  ParameterStore store;
  for (int i = 10; i < 30; ++i) add_parameter(store, {"new" + std::to_string(i)}, 1, 4);
  try {
    load_checkpoint(directory.file("ckpt"), store, nullptr, *run.world);
    FAIL();
  } catch (const UserError& error) {
    // 20 that the checkpoint lacks, 3 that the model lacks.
    ASSERT_EQ(error.violations().size(), 9u);
    EXPECT_THAT(error.violations()[0].found, HasSubstr("new10"));
    EXPECT_EQ(error.violations()[8].message, "15 more tensors do not fit");
  }
}

TEST(Checkpoint, ValuesThatAreNotFiniteAreNotSaved) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  const std::uint64_t saved = run.digest();
  run.step();
  run.store.parameters[1].main[0][1] = NAN;
  EXPECT_THAT(message_of<RuntimeFault>([&] { run.save(directory.file("ckpt")); }),
              AllOf(HasSubstr("the checkpoint was not saved: rank 0: 1 of 9 tensors"),
                    HasSubstr("not finite: c;")));
  EXPECT_FALSE(fs::exists(directory.file("ckpt/iter_0000002.tmp")));
  TinyModel resumed;
  EXPECT_EQ(resumed.load(directory.file("ckpt")).step, 1);
  EXPECT_EQ(resumed.digest(), saved);
}

TEST(Checkpoint, FoldersOfOthersStay) {
  TempDir directory;
  fs::create_directories(directory.path() / "ckpt/iter_backup.tmp");
  fs::create_directories(directory.path() / "ckpt/iter_0000009.tmp");
  TinyModel run;
  run.save(directory.file("ckpt"));
  EXPECT_TRUE(fs::exists(directory.file("ckpt/iter_backup.tmp")));
  EXPECT_FALSE(fs::exists(directory.file("ckpt/iter_0000009.tmp")));
}

// A path need not be UTF-8, JSON has to be.
TEST(Checkpoint, AFailureInAFolderOfAnyNameIsReported) {
  SmallDisk disk(128 << 10);
  WEFT_NEEDS_DISK(disk);
  TinyModel large;
  add_parameter(large.store, {"large"}, 256, 256);
  AdamW optimizer(large.store, {});
  const std::string path = disk.file("ckpt\xFF");
  EXPECT_THAT(message_of<RuntimeFault>([&] {
                save_checkpoint(path, large.store, optimizer, {.step = 2}, *large.world);
              }),
              HasSubstr("No space left on device"));
  EXPECT_FALSE(fs::exists(path + "/iter_0000002.tmp"));
}

class DamagedCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModel run;
    run.step();
    run.save(path_);
    run.step();
    run.save(path_);
  }

  std::string refusal() {
    return message_of([&] {
      TinyModel run;
      run.load(path_);
    });
  }

  TempDir directory_;
  std::string path_ = directory_.file("ckpt");
  std::string rank_file_ = path_ + "/iter_0000002/rank_00000.safetensors";
  std::string nearest_ = "the nearest valid iteration is 1: --load " + path_ + "/iter_0000001";
};

TEST_F(DamagedCheckpoint, AFlippedBitIsSeenAndTheNearestNamed) {
  std::string bytes = read_file(rank_file_);
  bytes[bytes.size() / 2] ^= 4;
  write_file(rank_file_, bytes);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(rank_file_ + " has checksum"), HasSubstr(nearest_)));
}

TEST_F(DamagedCheckpoint, ATruncatedFileIsSeen) {
  fs::resize_file(rank_file_, fs::file_size(rank_file_) - 1);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(rank_file_ + " has"), HasSubstr(nearest_)));
}

TEST_F(DamagedCheckpoint, AMissingFileIsSeen) {
  fs::remove(rank_file_);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(rank_file_ + ": cannot be opened"), HasSubstr(nearest_)));
}

TEST_F(DamagedCheckpoint, AManifestIsBelievedWholeOrNotAtAll) {
  const std::string manifest = path_ + "/iter_0000002/manifest.json";
  std::string text = read_file(manifest);
  text.replace(text.find("\"consumed_rows\": 16"), 19, "\"consumed_rows\": 17");
  write_file(manifest, text);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("manifest.json"), HasSubstr(nearest_)));
  write_file(manifest, "{");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is damaged"), HasSubstr(nearest_)));
  fs::remove(manifest);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot be opened"), HasSubstr(nearest_)));
}

// Signed as it should be, and still no manifest of ours.
TEST_F(DamagedCheckpoint, AManifestCounts) {
  const fs::path iteration = path_ + "/iter_0000002";
  const Manifest good = read_manifest(iteration);
  const auto refusal_of = [&](const std::string& from, const std::string& to) {
    auto body = nlohmann::json::parse(print_manifest(good)).at("body");
    std::string text = body.dump();
    text.replace(text.find(from), from.size(), to);
    body = nlohmann::json::parse(text);
    text = body.dump();
    const std::string digest = to_hex(hash_bytes(std::as_bytes(std::span(text))));
    write_file(iteration / "manifest.json",
               nlohmann::json{{"body", body}, {"xxh3", digest}}.dump());
    return refusal();
  };
  EXPECT_THAT(refusal_of("\"step\":2", "\"step\":-5"), HasSubstr("step = -5"));
  EXPECT_THAT(refusal_of("\"step\":2", "\"step\":2.5"), HasSubstr("step = 2.5"));
  EXPECT_THAT(refusal_of("\"consumed_rows\":16", "\"consumed_rows\":1e300"),
              HasSubstr("consumed_rows = 1e+300"));
  EXPECT_THAT(refusal_of("\"optimizer_steps\":2", "\"optimizer_steps\":18446744073709551615"),
              HasSubstr("optimizer_steps = 18446744073709551615"));
  EXPECT_THAT(refusal_of("\"seed\":42", "\"seed\":0.5"), HasSubstr("seed is no whole number"));
}

TEST(Checkpoint, WeightsAreFloatingPointNumbers) {
  TempDir directory;
  TinyModel run;
  run.step();
  run.save(directory.file("ckpt"));
  const fs::path iteration = directory.path() / "ckpt/iter_0000001";
  Manifest manifest = read_manifest(iteration);
  NamedTensors tensors;
  const SafetensorsFile saved(iteration / manifest.files[0].name);
  for (const auto& [name, entry] : saved.entries()) {
    const bool is_wrong = name == "c";
    tensors.emplace_back(name, at::zeros(entry.shape, is_wrong ? at::kInt : at::kFloat));
  }
  manifest.files[0].name = "rank_00001.safetensors";
  FileWriter writer(iteration / manifest.files[0].name);
  write_safetensors(writer, tensors);
  writer.finish();
  manifest.files[0].size_bytes = writer.size_bytes();
  manifest.files[0].digest = to_hex(writer.digest());
  write_file(iteration / "manifest.json", print_manifest(manifest));
  EXPECT_THAT(message_of([&] { run.load(directory.file("ckpt")); }),
              HasSubstr("c: holds Int, weights are floating-point numbers"));
}

TEST_F(DamagedCheckpoint, TheTracker) {
  const std::string tracker = path_ + "/latest_checkpointed_iteration.txt";
  write_file(tracker, "release\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("holds no number"), HasSubstr("iteration is 2")));
  write_file(tracker, "7");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("iter_0000007"), HasSubstr("iteration is 2")));
  fs::remove(tracker);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is not there"), HasSubstr("iteration is 2")));
}

TEST_F(DamagedCheckpoint, NothingValidIsSaid) {
  fs::remove(path_ + "/iter_0000001/manifest.json");
  fs::remove(rank_file_);
  EXPECT_THAT(refusal(), HasSubstr("no iteration in " + path_ + " is valid"));
}

TEST(Checkpoint, FoldersThatAreNoneAreRefused) {
  TempDir directory;
  TinyModel run;
  EXPECT_THAT(message_of([&] { run.load(directory.file("none")); }), HasSubstr("there is none"));
  EXPECT_THAT(message_of([&] { run.load(directory.path().string()); }),
              HasSubstr("no iteration in"));
  write_file(directory.file("config.json"), "{}");
  EXPECT_THAT(message_of([&] { run.load(directory.path().string()); }), HasSubstr("not built yet"));
}

TEST(Checkpoint, AFullDiskLosesNothing) {
  SmallDisk disk(512 << 10);
  WEFT_NEEDS_DISK(disk);
  const std::string path = disk.file("ckpt");
  TinyModel run;
  run.step();
  run.save(path);
  write_file(disk.file("ballast"), std::string(400 << 10, 'x'));
  TinyModel large;
  add_parameter(large.store, {"large"}, 256, 256);
  AdamW optimizer(large.store, {});
  EXPECT_THAT(message_of<RuntimeFault>([&] {
                save_checkpoint(path, large.store, optimizer, {.step = 2}, *large.world);
              }),
              AllOf(HasSubstr("the checkpoint was not saved: rank 0"),
                    HasSubstr("No space left on device")));
  EXPECT_FALSE(fs::exists(path + "/iter_0000002.tmp"));
  TinyModel resumed;
  EXPECT_EQ(resumed.load(path).step, 1);
  EXPECT_EQ(resumed.digest(), run.digest());
}

TEST(Checkpoint, AFailureOnOneRankIsThrownOnAll) {
  TempDir directory;
  std::atomic<int> thrown{0};
  run_ranks(2, {}, [&](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    ParameterStore store;
    add_parameter(store, {rank == 0 ? "a" : "b"}, 1, 2);
    AdamW optimizer(store, {});
    const CheckpointHook fail = [&](const char* point) {
      if (rank == 1 && std::string(point) == "rank-file-begun") throw RuntimeFault("disk gone");
    };
    try {
      save_checkpoint(directory.file("ckpt"), store, optimizer, {.step = 1}, *world, fail);
    } catch (const RuntimeFault& fault) {
      EXPECT_THAT(fault.what(), HasSubstr("rank 1: disk gone"));
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 2);
  EXPECT_FALSE(fs::exists(directory.file("ckpt/iter_0000001.tmp")));
}

// A process killed at any point of a save: what was saved before loads, or the new one does, whole.
class KilledSave : public ::testing::TestWithParam<const char*> {};

TEST_P(KilledSave, LosesNothing) {
  TempDir directory;
  const std::string path = directory.file("ckpt");
  TinyModel run;
  run.step();
  run.save(path);
  const std::uint64_t first = run.digest();
  run.step();

  const std::string point = GetParam();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    run.save(path, [&](const char* reached) {
      if (point == reached) ::raise(SIGKILL);
    });
    std::_Exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the save passed " << point;

  TinyModel resumed;
  const bool is_new = resumed.load(path).step == 2;
  EXPECT_EQ(is_new, point == "tracked");
  EXPECT_EQ(resumed.digest(), is_new ? run.digest() : first);

  run.save(path);  // the next save clears up and succeeds
  EXPECT_EQ(resumed.load(path).step, 2);
  EXPECT_EQ(resumed.digest(), run.digest());
  for (const auto& entry : fs::directory_iterator(path)) {
    EXPECT_THAT(entry.path().string(), Not(::testing::EndsWith(".tmp")));
  }
}

INSTANTIATE_TEST_SUITE_P(Points, KilledSave,
                         ::testing::Values("directory-made", "rank-file-begun", "rank-file-written",
                                           "manifest-written", "renamed", "tracked"));

}  // namespace
}  // namespace weft
