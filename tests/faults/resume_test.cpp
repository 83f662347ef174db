// Saving, dying while saving, loading, going on.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "faults/workplace.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::SizeIs;

class Resume : public Workplace {
 protected:
  std::vector<LoggedStep> steps_of(const Words& flags) {
    const std::string metrics = path("m" + std::to_string(num_runs_++));
    const Ending ending = run_to_end(train(flags + Words{"--metrics", metrics}));
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    return read_metrics(metrics);
  }

 private:
  int num_runs_ = 0;
};

TEST_F(Resume, GivesTheBitsOfAnUninterruptedRun) {
  const std::vector<LoggedStep> whole = steps_of(four_ranks(4) + Words{"--train-iters=6"});
  ASSERT_THAT(whole, SizeIs(6));
  const std::vector<LoggedStep> first = {whole.begin(), whole.begin() + 3};
  const std::vector<LoggedStep> second = {whole.begin() + 3, whole.end()};
  EXPECT_EQ(steps_of(four_ranks(4) + Words{"--train-iters=3", "--save", path("ckpt")}), first);
  const Words go_on = {"--train-iters=6", "--load", path("ckpt")};
  EXPECT_EQ(steps_of(four_ranks(4) + go_on), second);
  // Other stages, the same experts and data on a rank.
  EXPECT_EQ(steps_of(Words{"--expert-model-parallel-size=2", "--schedules-method=no-pipeline",
                           "--num-microbatches=4"} +
                     go_on),
            second);
  // Another data parallel size with the same rows per step: alike but for rounding.
  const std::vector<LoggedStep> alone = steps_of(Words{"--num-microbatches=8"} + go_on);
  ASSERT_THAT(alone, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(alone[i].loss, second[i].loss, 1e-4);
}

TEST_F(Resume, IsFromAWholeCheckpointAfterADeathWhileSaving) {
  const Words flags = {"--pipeline-model-parallel-size=2", "--num-microbatches=2"};
  const int num_steps = 10;
  const std::vector<LoggedStep> whole =
      steps_of(flags + Words{"--train-iters=" + std::to_string(num_steps)});
  ASSERT_THAT(whole, SizeIs(num_steps));
  for (int round = 0; round < 4; ++round) {
    const std::string folder = path("ckpt" + std::to_string(round));
    WeftProcess run(train(flags + Words{"--train-iters=1000", "--save", folder, "--save-interval=1",
                                        "--metrics", path("killed")}));
    const auto ranks = run.ranks(2);
    ASSERT_THAT(ranks, SizeIs(2));
    const int saved = 1 + random(4);
    char name[20];
    std::snprintf(name, sizeof name, "iter_%07d", saved);
    const auto is_there = [&](const std::string& file) { return fs::exists(folder + "/" + file); };
    while (!is_there(name + std::string(".tmp")) && !is_there(name) && !run.has_ended()) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random(12'000)));
    ::kill(ranks.at(round % 2), SIGKILL);
    const Ending ending = run.wait();
    EXPECT_EQ(ending.exit_code, 1);
    EXPECT_THAT(ending.errors(), SizeIs(1)) << ending.err;
    std::cout << ending.errors()[0] << "\n";

    std::ifstream tracker(folder + "/latest_checkpointed_iteration.txt");
    int step = 0;
    if (!(tracker >> step)) {
      EXPECT_EQ(saved, 1) << "an older iteration was lost";
      continue;
    }
    EXPECT_GE(step, saved - 1);
    ASSERT_LE(step + 1, num_steps);
    const std::vector<LoggedStep> resumed =
        steps_of(flags + Words{"--train-iters=" + std::to_string(step + 1), "--load", folder,
                               "--save", folder});
    EXPECT_EQ(resumed, std::vector<LoggedStep>{whole[step]});
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      EXPECT_NE(entry.path().extension(), ".tmp") << "left over after the next save";
    }
  }
}

}  // namespace
}  // namespace weft
