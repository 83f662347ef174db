#include "comm/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "comm/program.h"
#include "comm/scenarios.h"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Every wait of a rank that is left ends well within this.
constexpr seconds kAllGone{10};

std::vector<std::string> scenario(const std::string& name, int ranks) {
  return {own_path(), "--scenario", name, std::to_string(ranks)};
}

// The time that counts is from when the last rank says that it is about to end.
ProgramResult run_to_the_end(const std::vector<std::string>& arguments) {
  ProgramOptions options;
  options.text = "ending";
  options.on_text = [](int) {};
  return run_program(arguments, options);
}

std::ptrdiff_t num_messages(std::string_view output) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; (at = output.find("weft: ", at)) != std::string_view::npos; ++at)
    ++count;
  return count;
}

class Launched : public testing::TestWithParam<int> {};

TEST_P(Launched, ExchangesOverGloo) {
  const ProgramResult result = run_program(scenario("suite", GetParam()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, Launched, testing::Values(0, 1, 2, 3, 5));

class KilledRank : public testing::TestWithParam<const char*> {};

TEST_P(KilledRank, EndsAllOthersWithOneMessage) {
  const ProgramResult result = run_to_the_end(scenario(GetParam(), 3));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_FALSE(result.is_late);
  EXPECT_LT(result.took, kAllGone);
  EXPECT_EQ(num_messages(result.output), 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("rank 2 was killed by signal 9 (Killed)"));
  EXPECT_THAT(result.output, AllOf(ContainsRegex("rank 0 (noticed|was) in the wait of the test"),
                                   ContainsRegex("rank 1 (noticed|was) in the wait of the test")));
}

INSTANTIATE_TEST_SUITE_P(Waits, KilledRank,
                         testing::Values("kill-in-all-to-all", "kill-in-recv", "kill-in-barrier",
                                         "kill-unseen"));

TEST(Launcher, ARankThatExitsIsNamedWithItsCode) {
  const ProgramResult result = run_to_the_end(scenario("exit-7", 2));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(num_messages(result.output), 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("rank 1 ended with exit code 7"));
}

TEST(Launcher, AUsersErrorIsSaidOnceInFull) {
  const ProgramResult result = run_to_the_end(scenario("user-error", 3));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(num_messages(result.output), 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("rule-one: --flag 1"), HasSubstr("rule-two")));
}

TEST(Launcher, AFaultIsSaidOnceWithItsRankAndAction) {
  const ProgramResult result = run_to_the_end(scenario("fault", 3));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_LT(result.took, kAllGone);
  EXPECT_EQ(num_messages(result.output), 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("rank 2: No space left on device"));
}

TEST(Launcher, MoreRanksThanMemoryHoldsAreRefusedBeforeAnyStarts) {
  try {
    launch_local_ranks(1 << 20, {"weft", "train"});
    FAIL() << "a million processes were started";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("1048576 local ranks"));
  }
}

TEST(Launcher, ARankThatStallsMeetsTheDeadline) {
  const ProgramResult result = run_to_the_end(scenario("stall", 2));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_LT(result.took, kAllGone);
  EXPECT_EQ(num_messages(result.output), 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("rank 0: all-to-all on group 'world' with rank 1"),
                    HasSubstr("not complete after 1 s"), HasSubstr("the wait of the test")));
}

class Interrupted : public testing::TestWithParam<bool> {};

// A terminal sends SIGINT to all processes at once, `kill` to the one that is named.
TEST_P(Interrupted, LeavesNoProcessBehind) {
  ProgramOptions options;
  options.text = "ready";
  options.on_text = [](int pid) { ::kill(GetParam() ? -pid : pid, SIGINT); };
  const ProgramResult result = run_program(scenario("wait-for-ever", 3), options);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_FALSE(result.is_late);
  EXPECT_LT(result.took, kAllGone);
  EXPECT_EQ(num_messages(result.output), 0) << result.output;
}

INSTANTIATE_TEST_SUITE_P(WholeGroup, Interrupted, testing::Bool());

// Before its first action, and as the only rank.
TEST(Launcher, AnEndBySigtermIsSaidWhole) {
  ProgramOptions options;
  options.text = "ready";
  options.on_text = [](int pid) { ::kill(pid, SIGTERM); };
  for (const int ranks : {0, 2}) {
    const ProgramResult result = run_program(scenario("ready", ranks), options);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output,
                ContainsRegex("error: terminated by signal 15 .Terminated.(; .*)?\n"));
    EXPECT_EQ(num_messages(result.output), 1) << result.output;
  }
}

TEST(Launcher, RanksDieWithTheLauncher) {
  ProgramOptions options;
  options.text = "ready";
  options.on_text = [](int pid) { ::kill(pid, SIGKILL); };
  const ProgramResult result = run_program(scenario("wait-for-ever", 3), options);
  EXPECT_FALSE(result.is_late);
  EXPECT_LT(result.took, kAllGone);
}

// What the build found to try; where it is not there the test says so.
bool is_there(const char* path, const char* name) {
  if (*path != '\0') return true;
  ADD_FAILURE() << name << " was not found when the build was configured: it belongs to "
                << "the LibTorch wheel (torchrun) or the package openmpi-bin (mpirun)";
  return false;
}

std::vector<std::string> by_torchrun(const std::string& name, int ranks) {
  std::vector<std::string> arguments = {WEFT_TORCHRUN, "--no-python", "--standalone",
                                        "--nproc-per-node", std::to_string(ranks)};
  const std::vector<std::string> program = scenario(name, ranks);
  arguments.insert(arguments.end(), program.begin(), program.end());
  return arguments;
}

std::vector<std::string> by_mpirun(const std::string& name, int ranks) {
  std::vector<std::string> arguments = {WEFT_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n",
                                        std::to_string(ranks)};
  const std::vector<std::string> program = scenario(name, ranks);
  arguments.insert(arguments.end(), program.begin(), program.end());
  return arguments;
}

TEST(Torchrun, Exchanges) {
  if (!is_there(WEFT_TORCHRUN, "torchrun")) return;
  const ProgramResult result = run_program(by_torchrun("suite", 3));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(Torchrun, EachSurvivorOfADeathSaysOneLine) {
  if (!is_there(WEFT_TORCHRUN, "torchrun")) return;
  const ProgramResult result = run_to_the_end(by_torchrun("kill-in-all-to-all", 3));
  EXPECT_NE(result.exit_code, 0) << result.output;
  EXPECT_FALSE(result.is_late);
  EXPECT_LT(result.took, kAllGone);
  EXPECT_EQ(num_messages(result.output), 2) << result.output;
  for (const char* rank : {"rank 0", "rank 1"}) {
    EXPECT_THAT(result.output,
                ContainsRegex("weft: error: " + std::string(rank) + ".* in the wait of the test"));
  }
}

TEST(Mpirun, Exchanges) {
  if (!is_there(WEFT_MPIRUN, "mpirun")) return;
  const ProgramResult result = run_program(by_mpirun("suite", 3));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(Mpirun, ADeathEndsAll) {
  if (!is_there(WEFT_MPIRUN, "mpirun")) return;
  const ProgramResult result = run_to_the_end(by_mpirun("kill-in-all-to-all", 3));
  EXPECT_NE(result.exit_code, 0) << result.output;
  EXPECT_FALSE(result.is_late);
  EXPECT_LT(result.took, kAllGone);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--scenario") return weft::run_scenario(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
