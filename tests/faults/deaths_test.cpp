// A rank that dies or stalls, at any moment of a run by `weft train`'s own launcher.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "faults/workplace.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

// Where in a step, as a share of its time: with 8 micro-batches on two stages pairs are woven from
// about a sixth to five sixths of it.
struct Moment {
  const char* name;
  double share;
};
void PrintTo(const Moment& moment, std::ostream* out) { *out << moment.name; }

class Killed : public Workplace, public testing::WithParamInterface<Moment> {
 protected:
  // Kills `victim` at that moment of the third step.
  Ending kill_in_third_step(int victim) {
    WeftProcess run(train(four_ranks(8) + Words{"--train-iters=1000", "--metrics", path("m.jsonl"),
                                                "--save", path("ckpt"), "--save-interval=2"}));
    const auto ranks = run.ranks(4);
    const std::vector<LoggedStep> steps = wait_for_steps(run, path("m.jsonl"), 2);
    EXPECT_THAT(steps, SizeIs(2));
    if (steps.size() < 2 || ranks.size() < 4) return run.wait(std::chrono::seconds(0));
    // The save after the second step lies between: its end is the tracker.
    while (!std::filesystem::exists(path("ckpt/latest_checkpointed_iteration.txt")) &&
           !run.has_ended()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    std::this_thread::sleep_for(
        milliseconds(static_cast<int>(GetParam().share * steps[1].step_ms)));
    ::kill(ranks.at(victim), SIGKILL);
    return run.wait();
  }
};

TEST_P(Killed, EndsAllWithOneMessageAndLosesNothingSaved) {
  const int victim = random(4);
  const Ending ending = kill_in_third_step(victim);
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_LT(ending.took, kAllGone);
  EXPECT_FALSE(ending.left_processes);
  EXPECT_EQ(ending.out, "");
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  const std::string message = ending.errors()[0];
  std::cout << message << "\n";
  EXPECT_THAT(message, HasSubstr("error: rank " + std::to_string(victim) +
                                 " was killed by signal 9 (Killed)"));
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == victim) continue;
    EXPECT_THAT(message, ContainsRegex("rank " + std::to_string(rank) + " (noticed|was) in ."));
  }
  const Ending resumed =
      run_to_end(train(four_ranks(8) + Words{"--train-iters=3", "--load", path("ckpt"), "--metrics",
                                             path("resumed.jsonl")}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

INSTANTIATE_TEST_SUITE_P(Moments, Killed,
                         testing::Values(Moment{"WarmUp", 0.05}, Moment{"Steady", 0.5},
                                         Moment{"CoolDown", 0.75}),
                         [](const auto& made) { return made.param.name; });

class Death : public Workplace {};

TEST_F(Death, AtTheStartEndsAll) {
  const Words flags = four_ranks(2) + Words{"--train-iters=1000"};
  for (int round = 0; round < 2; ++round) {
    WeftProcess run(train(flags));
    const auto ranks = run.ranks(4);
    ASSERT_THAT(ranks, SizeIs(4));
    std::this_thread::sleep_for(milliseconds(random(800)));
    const int victim = random(4);
    ::kill(ranks.at(victim), SIGKILL);
    const Ending ending = run.wait();
    EXPECT_EQ(ending.exit_code, 1);
    EXPECT_LT(ending.took, kAllGone);
    EXPECT_FALSE(ending.left_processes);
    ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
    EXPECT_THAT(ending.errors()[0],
                HasSubstr("error: rank " + std::to_string(victim) + " was killed by signal 9"));
  }
}

TEST_F(Death, OfTheLauncherEndsAllRanks) {
  WeftProcess run(train(four_ranks(2) + Words{"--train-iters=100000", "--metrics", path("m")}));
  ASSERT_THAT(run.ranks(4), SizeIs(4));
  wait_for_steps(run, path("m"), 1);
  run.signal_program(SIGKILL);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 128 + SIGKILL);
  EXPECT_FALSE(ending.left_processes);
}

TEST_F(Death, AStalledRankMeetsTheDeadline) {
  WeftProcess run(
      train({"--pipeline-model-parallel-size=2", "--num-microbatches=4", "--train-iters=100000",
             "--distributed-timeout-seconds=3", "--metrics", path("m")}));
  const auto ranks = run.ranks(2);
  ASSERT_THAT(ranks, SizeIs(2));
  wait_for_steps(run, path("m"), 2);
  ::kill(ranks.at(1), SIGSTOP);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_LT(ending.took, kAllGone + std::chrono::seconds(3));
  EXPECT_FALSE(ending.left_processes);
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  const std::string message = ending.errors()[0];
  std::cout << message << "\n";
  EXPECT_THAT(message, ContainsRegex("rank 0: [^;]* (with|from|to) rank 1"));
  EXPECT_THAT(message, HasSubstr("not complete after 3 s"));
  EXPECT_THAT(message, ContainsRegex("\\(rank 0 in .+\\)"));
}

}  // namespace
}  // namespace weft
