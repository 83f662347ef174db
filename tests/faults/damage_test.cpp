// Damaged input: exit code 2, one message that names the file and what is wrong, nothing written.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "faults/workplace.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

void cut(const std::string& file) { fs::resize_file(file, fs::file_size(file) - 3); }

void flip(const std::string& file, std::uintmax_t at, char mask = 0x40) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(stream.get());
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte ^ mask));
}

void overwrite(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::trunc) << text;
}

class Damaged : public Workplace {
 protected:
  const Words two_ranks_ = {"--pipeline-model-parallel-size=2", "--num-microbatches=2"};

  Ending expect_refused(const std::string& file, const std::string& what, const Words& more = {}) {
    const Ending ending = run_to_end(train(
        two_ranks_ +
        Words{"--train-iters=3", "--metrics", path("m.jsonl"), "--timeline", path("t")} + more));
    EXPECT_EQ(ending.exit_code, 2) << ending.err;
    EXPECT_FALSE(ending.left_processes);
    EXPECT_EQ(ending.out, "");
    EXPECT_THAT(ending.errors(), SizeIs(1)) << ending.err;
    EXPECT_THAT(ending.err, AllOf(HasSubstr(file), HasSubstr(what)));
    for (const char* output : {"m.jsonl", "t", "t.json", "t.html"}) {
      EXPECT_FALSE(fs::exists(path(output))) << output;
    }
    return ending;
  }
};

TEST_F(Damaged, IndexThatIsCut) {
  cut(path("data.idx"));
  expect_refused(path("data.idx"), "number of document indices at byte 26 = 5");
}

TEST_F(Damaged, IndexWithAFlippedBit) {
  flip(path("data.idx"), 34 + 4 * 4 + 8 + 1);  // pointer 1
  expect_refused(path("data.idx"), "pointer[1]");
}

TEST_F(Damaged, DataThatAreCut) {
  cut(path("data.bin"));
  expect_refused(path("data.bin"), "3997 bytes");
}

// Found when it is read, which may be late; here every sample has one.
TEST_F(Damaged, DataWithFlippedBits) {
  for (std::uintmax_t at = 0; at < 4000; at += 8) flip(path("data.bin"), at, '\x80');
  expect_refused(path("data.bin"), "--vocab-size");
}

TEST_F(Damaged, Checkpoint) {
  const std::string folder = path("ckpt");
  ASSERT_EQ(run_to_end(
                train(two_ranks_ + Words{"--train-iters=2", "--save", folder, "--save-interval=1"}))
                .exit_code,
            0);
  const std::string newest = folder + "/iter_0000002/";
  const Words load = {"--load", folder};
  const auto expect_refused_after = [&](const std::string& file, const std::string& what, int valid,
                                        const std::function<void()>& damage) {
    SCOPED_TRACE(file + ": " + what);
    fs::copy(folder, path("sound"), fs::copy_options::recursive);
    damage();
    const std::string number = std::to_string(valid);
    const Ending ending = expect_refused(file, what, load);
    EXPECT_THAT(ending.err, HasSubstr("the nearest valid iteration is " + number + ": --load " +
                                      folder + "/iter_000000" + number));
    fs::remove_all(folder);
    fs::rename(path("sound"), folder);
  };
  const std::string tensors = newest + "rank_00001.safetensors";
  const std::string manifest = newest + "manifest.json";
  const std::string tracker = folder + "/latest_checkpointed_iteration.txt";
  expect_refused_after(tensors, "the manifest says", 1, [&] { cut(tensors); });
  expect_refused_after(tensors, "checksum", 1, [&] { flip(tensors, fs::file_size(tensors) / 2); });
  expect_refused_after(manifest, "is damaged", 1, [&] { cut(manifest); });
  expect_refused_after(tracker, "no number", 2, [&] { overwrite(tracker, "two\n"); });
}

}  // namespace
}  // namespace weft
