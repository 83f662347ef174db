#include "train/run_settings.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "config/derive.h"
#include "support/tiny_run.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class RunSettings : public testing::Test {
 protected:
  RunSettings() { fs::create_directories(folder_); }
  ~RunSettings() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  static std::map<std::string, SharedSetting> settings(Config config) {
    config = resolved(config, {});
    std::map<std::string, SharedSetting> by_name;
    for (const SharedSetting& s : run_settings(Request(), config, make_run_plan(config))) {
      by_name[s.name] = s;
    }
    return by_name;
  }

 private:
  std::string folder_ = testing::TempDir() + "weft_settings_" + std::to_string(getpid());
};

Config config() {
  Config config = tiny_config(2);
  config.schedule.num_microbatches = 2;
  return config;
}

TEST_F(RunSettings, AreTheFlagsOfTrainWithTheirValues) {
  Config other = config();
  other.train.seed = 7;
  other.train.metrics = "m.jsonl";
  const auto all = settings(other);
  EXPECT_EQ(all.at("--seed").value, "7");
  EXPECT_EQ(all.at("WORLD_SIZE").value, "1");
  EXPECT_EQ(all.at("--num-microbatches").value, "2");
  EXPECT_TRUE(all.contains("--save-gradients"));
  EXPECT_TRUE(all.contains("--log-digests"));
  // Rank 0's own, and those of other verbs.
  for (const char* name : {"--metrics", "--timeline", "--prompt", "--output"}) {
    EXPECT_FALSE(all.contains(name)) << name;
  }
}

TEST_F(RunSettings, FilesCountByWhatIsInThem) {
  const auto digest_of = [](const std::string& file) {
    Config other = config();
    other.train.token_file = file;
    return settings(other).at("--token-file").digest;
  };
  const std::string text(3 << 20, 'a');
  const std::string digest = digest_of(write("a", text));
  EXPECT_NE(digest, "");
  EXPECT_EQ(digest_of(write("b", text)), digest);
  EXPECT_NE(digest_of(write("c", text + "a")), digest);
  EXPECT_NE(digest_of(write("d", "b" + text.substr(1))), digest);
  EXPECT_NE(digest_of(write("e", text.substr(1) + "b")), digest);
  EXPECT_EQ(digest_of("/nonexistent"), "");
}

TEST_F(RunSettings, ASchedulesDigestIsOfTheSchedule) {
  const auto digest_of = [](const char* method) {
    Config other = config();
    other.schedule.schedules_method = method;
    other.parallel.pipeline_model_parallel_size = 2;
    other.parallel.data_parallel_size = 1;
    return settings(other).at("--schedules-method").digest;
  };
  EXPECT_EQ(digest_of("1f1b"), digest_of(""));  // the default
  EXPECT_NE(digest_of("1f1b"), digest_of("gpipe"));
}

}  // namespace
}  // namespace weft
