// Files of a run: what it must not overwrite, what it takes from a checkpoint and adds to one.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "faults/workplace.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

class RunFiles : public Workplace {
 protected:
  // The tiny model on one rank without a seed of its own.
  Words tiny(const Words& more) const {
    Words words = train(Words{"--num-microbatches=2"} + more);
    std::erase(words, "--seed=7");
    return words;
  }

  Ending expect_done(const Words& words) const {
    Ending ending = run_to_end(words);
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    return ending;
  }

  void expect_refused(const Words& words, const std::string& why) const {
    const Ending ending = run_to_end(words);
    EXPECT_EQ(ending.exit_code, 2) << ending.err;
    EXPECT_EQ(ending.out, "");
    EXPECT_THAT(ending.err, HasSubstr(why));
  }
};

TEST_F(RunFiles, InputsAreNotOverwritten) {
  std::ofstream(path("run.toml")) << "num-microbatches = 2\n";
  expect_done(tiny({"--train-iters=1", "--save", path("ckpt")}));
  const std::string iteration = path("ckpt/iter_0000001");
  fs::create_directory_symlink(path("ckpt"), path("link"));
  const auto check = [&](const std::string& flag, const std::string& file, const Words& more,
                         const std::string& input) {
    SCOPED_TRACE(flag + " " + file);
    const std::string before = bytes_of(file);
    ASSERT_NE(before, "");
    expect_refused(tiny(Words{"--train-iters=2", flag, file} + more),
                   "outputs-apart: " + flag + " " + file + ": would overwrite what " + input);
    EXPECT_EQ(bytes_of(file), before);
  };
  check("--metrics", path("data.bin"), {}, "--data-path");
  check("--save-gradients", path("data.idx"), {}, "--data-path");
  check("--metrics", path("run.toml"), {"--config", path("run.toml")}, "--config");
  const Words load = {"--load", path("ckpt")};
  check("--metrics", iteration + "/manifest.json", load, "--load");
  check("--save-gradients", path("link/iter_0000001/rank_00000.safetensors"), load, "--load");
  check("--metrics", path("ckpt/latest_checkpointed_iteration.txt"),
        {"--load", iteration, "--save", path("ckpt")}, "--save");
  check("--metrics", iteration + "/manifest.json", {"--save", path("ckpt")}, "--save");
  // Beside the iterations there is room.
  expect_done(
      tiny(Words{"--train-iters=2", "--save", path("ckpt"), "--metrics", path("ckpt/m")} + load));
  EXPECT_THAT(read_metrics(path("ckpt/m")), SizeIs(1));
}

TEST_F(RunFiles, ACheckpointKeepsTheOrderOfTheData) {
  const auto steps = [&](const Words& more) {
    fs::remove(path("m"));
    const Ending ending = expect_done(tiny(more + Words{"--metrics", path("m")}));
    return std::make_pair(read_metrics(path("m")), ending.err);
  };
  const auto whole = steps({"--seed=5", "--train-iters=4"}).first;
  ASSERT_THAT(whole, SizeIs(4));
  steps({"--seed=5", "--train-iters=2", "--save", path("ckpt")});
  const Words resume = {"--train-iters=4", "--load", path("ckpt")};
  const auto [silent, said_nothing] = steps(resume);
  EXPECT_EQ(silent, (std::vector<LoggedStep>{whole[2], whole[3]}));
  EXPECT_THAT(said_nothing, Not(HasSubstr("--seed")));
  EXPECT_EQ(steps(resume + Words{"--seed=5"}).first, silent);
  const auto [other, said] = steps(resume + Words{"--seed=6"});
  EXPECT_NE(other, silent);
  EXPECT_THAT(said, HasSubstr("weft: warning: --seed 6: the checkpoint in " + path("ckpt") +
                              " was trained with --seed 5; from here on the data come in another "
                              "order"));
}

TEST_F(RunFiles, GradientsAreThoseOfTheRunsFirstStep) {
  expect_done(tiny({"--train-iters=2", "--save", path("ckpt"), "--save-gradients", path("first")}));
  expect_done(tiny({"--train-iters=4", "--load", path("ckpt"), "--save-gradients", path("third")}));
  EXPECT_EQ(fs::file_size(path("third")), fs::file_size(path("first")));
  EXPECT_NE(bytes_of(path("third")), bytes_of(path("first")));
}

// Steps 3 and 4 of a run that died with 2 saved.
TEST_F(RunFiles, MetricsOfStepsThatAreTakenAgainStandOnce) {
  const Words to_metrics = {"--metrics", path("m")};
  expect_done(
      tiny(Words{"--train-iters=4", "--save-interval=2", "--save", path("ckpt")} + to_metrics));
  const std::vector<LoggedStep> whole = read_metrics(path("m"));
  std::ofstream(path("m"), std::ios::app) << "{\"step\": 5, \"lo";
  expect_done(tiny(Words{"--train-iters=4", "--load", path("ckpt/iter_0000002")} + to_metrics));
  EXPECT_EQ(read_metrics(path("m")), whole);
}

TEST_F(RunFiles, AnotherRunsIterationsAreNotReplacedWithoutAWord) {
  const Words to = {"--save", path("ckpt")};
  EXPECT_THAT(expect_done(tiny(Words{"--train-iters=2"} + to)).err, Not(HasSubstr("warning")));
  EXPECT_THAT(expect_done(tiny(Words{"--train-iters=1"} + to)).err,
              HasSubstr("weft: warning: --save " + path("ckpt") +
                        ": holds iterations up to 2, and this run starts after step 0"));
  EXPECT_THAT(
      expect_done(tiny(Words{"--train-iters=3", "--load", path("ckpt/iter_0000002")} + to)).err,
      Not(HasSubstr("warning")));
}

// None of them may wait for a writer.
TEST_F(RunFiles, APipeIsNoCheckpoint) {
  expect_done(tiny({"--train-iters=1", "--save", path("ckpt")}));
  for (const char* name : {"latest_checkpointed_iteration.txt", "iter_0000001/manifest.json",
                           "iter_0000001/rank_00000.safetensors"}) {
    const std::string file = path("ckpt/") + name;
    fs::rename(file, path("kept"));
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect_refused(tiny({"--train-iters=2", "--load", path("ckpt")}), "is not a regular file");
    fs::rename(path("kept"), file);
  }
}

TEST_F(RunFiles, WhatTheMachineCannotHoldIsRefused) {
  Words words = tiny({"--train-iters=1", "--num-experts=16000000"});
  std::erase(words, "--num-experts=4");
  expect_refused(words, "machine-memory: ");
}

TEST_F(RunFiles, ThePlaceOfASample) {
  expect_done(tiny({"--train-iters=1", "--save", path("ckpt")}));
  const auto sample = [&](const Words& more) {
    return Words{WEFT_BINARY, "sample", "--load", path("ckpt"), "--max-new-tokens=4"} + more;
  };
  const Ending shown = expect_done(sample({"--prompt=ab"}));
  const Ending written = expect_done(sample({"--prompt=ab", "--output", path("s")}));
  EXPECT_THAT(shown.out, HasSubstr("ab"));
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(bytes_of(path("s")), shown.out);
  // The vocabulary is 128.
  expect_refused(sample({"--prompt=a\xC3\xA9"}),
                 "--prompt a\xC3\xA9: byte 1 is token 195; the model has tokens 0 to 127");
}

TEST_F(RunFiles, LoadWithoutAFolderNamesTheFlag) {
  fs::create_symlink("loop", path("loop"));
  expect_refused(tiny({"--train-iters=1", "--load", path("loop")}),
                 "--load " + path("loop") + ": cannot be read: Too many levels of symbolic links");
}

}  // namespace
}  // namespace weft
