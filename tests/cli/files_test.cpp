// No output of a command lies on what it reads, or on another output, whatever names they go by.
#include <gmock/gmock.h>

#include "cli/run_weft.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr auto kSmall = " --pipeline-model-parallel-size 2 --num-microbatches 2";
constexpr auto kModel =
    " --num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 4 --vocab-size 8";
constexpr auto kConfigJson = R"({"model_type": "mixtral", "num_hidden_layers": 2,
  "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8,
  "num_local_experts": 2, "num_experts_per_tok": 1, "vocab_size": 8,
  "max_position_embeddings": 4, "tie_word_embeddings": false})";

class Files : public testing::Test {
 protected:
  Files() {
    fs::create_directories(folder_ + "/model");
    write("run.toml", "num-microbatches = 2\n");
    write("own.csv", slurp(WEFT_ERROR_CASES "/two_ranks.csv"));
    write("costs.toml", "unit = \"ms\"\n");
    write("model/config.json", kConfigJson);
    const WeftRun run = weft("simulate" + std::string(kSmall) + " --timeline t.json");
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  ~Files() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }

  WeftRun weft(const std::string& words) const { return run_weft(words, folder_); }

  // Refused, and `file` is as it was.
  void expect_refused(const std::string& words, const std::string& file, const std::string& why) {
    SCOPED_TRACE(words);
    const std::string before = slurp(folder_ + "/" + file);
    const WeftRun run = weft(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_EQ(slurp(folder_ + "/" + file), before);
  }

  const std::string folder_ = testing::TempDir() + "weft_files_" + std::to_string(getpid());
};

std::string overwrites(const std::string& output, const std::string& input) {
  return "outputs-apart: " + output + ": would overwrite what " + input +
         " names; give another name\n";
}

TEST_F(Files, InputsAreNotOverwritten) {
  const std::string small = kSmall, model = kModel;
  expect_refused("simulate --pipeline-model-parallel-size 2 --config run.toml --output ./run.toml",
                 "run.toml", overwrites("--output ./run.toml", "--config"));
  expect_refused("schedule --schedules-method own.csv --output own.csv", "own.csv",
                 overwrites("--output own.csv", "--schedules-method"));
  expect_refused("simulate" + small + " --costs costs.toml --timeline t.json --output costs.toml",
                 "costs.toml", overwrites("--output costs.toml", "--costs"));
  expect_refused("plan --num-microbatches 2 --model model --output model/config.json",
                 "model/config.json", overwrites("--output model/config.json", "--model"));
  expect_refused("report --timeline t.json --output t.json", "t.json",
                 overwrites("--output t.json", "--timeline"));
  expect_refused("report --timeline t.json --costs t.json", "t.json",
                 overwrites("--costs t.json", "--timeline"));
}

TEST_F(Files, OutputsShareNone) {
  expect_refused("simulate" + std::string(kSmall) + " --timeline new.json --output new.json",
                 "t.json", "outputs-apart: --output new.json: is where --timeline goes too");
  expect_refused("simulate" + std::string(kSmall) + " --timeline t --output t.html", "t.json",
                 "outputs-apart: --output t.html: is where --timeline goes too");
}

TEST_F(Files, OthersBesideThemAreWritten) {
  const WeftRun run = weft("report --timeline t.json --output r.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(fs::exists(folder_ + "/r.json"));
  EXPECT_EQ(
      weft("simulate" + std::string(kSmall) + " --output /dev/null --timeline t.json").exit_code,
      0);
}

}  // namespace
}  // namespace weft
