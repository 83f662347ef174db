// Processes that are stopped but not dead: a rank, the one with the store, the launcher, all.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "faults/workplace.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

bool is_there(pid_t process) { return ::kill(process, 0) == 0; }

class Frozen : public Workplace {
 protected:
  // Steps that go on until something ends them.
  Words endless(int ranks, const Words& more) const {
    return train(Words{"--pipeline-model-parallel-size=" + std::to_string(ranks),
                       "--num-microbatches=4", "--train-iters=1000000", "--metrics", path("m")} +
                 more);
  }

  // How long it takes until all but `left` are gone; `limit` if they do not go.
  static milliseconds until_gone(const std::map<int, pid_t>& ranks, int left, milliseconds limit) {
    const auto start = steady_clock::now();
    for (const auto& [rank, process] : ranks) {
      while (rank != left && is_there(process) && steady_clock::now() < start + limit) {
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  }
};

// It hosts the store: no other rank may wait for an answer of it.
TEST_F(Frozen, RankZeroByHand) {
  const Words rank = endless(3, {"--distributed-timeout-seconds=4"});
  WeftProcess run(by_hand(free_port(), {rank, rank, rank}));
  const auto ranks = run.ranks(3);
  ASSERT_THAT(ranks, SizeIs(3));
  ASSERT_THAT(wait_for_steps(run, path("m"), 1), SizeIs(testing::Ge(1U)));
  ::kill(ranks.at(0), SIGSTOP);
  EXPECT_LT(until_gone(ranks, 0, seconds(40)), seconds(4) + kAllGone);
  ::kill(ranks.at(0), SIGKILL);
  const Ending ending = run.wait();
  EXPECT_THAT(ending.out, HasSubstr("rank 1: 1\n"));
  EXPECT_THAT(ending.out, HasSubstr("rank 2: 1\n"));
  ASSERT_THAT(ending.errors(), SizeIs(2)) << ending.err;
  for (const std::string& error : ending.errors()) {
    EXPECT_THAT(error, ContainsRegex("error: rank [12] in .*rank 0"));
    EXPECT_THAT(error, Not(ContainsRegex("rank 1.*: rank 1: |rank 2.*: rank 2: ")));
  }
}

TEST_F(Frozen, TheLauncherWhileARankDies) {
  WeftProcess run(endless(3, {}));
  const auto ranks = run.ranks(3);
  ASSERT_THAT(ranks, SizeIs(3));
  wait_for_steps(run, path("m"), 1);
  run.signal_program(SIGSTOP);
  ::kill(ranks.at(2), SIGKILL);
  // Ranks that have ended stay zombies of the stopped launcher.
  const auto start = steady_clock::now();
  const auto is_running = [](pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string id, name, state;
    stat >> id >> name >> state;
    return state != "Z";
  };
  for (const int rank : {0, 1}) {
    while (is_running(ranks.at(rank)) && steady_clock::now() < start + seconds(30)) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
  EXPECT_LT(steady_clock::now() - start, kAllGone);
  run.signal_program(SIGCONT);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 1);
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  EXPECT_THAT(ending.errors()[0], HasSubstr("rank 2 was killed by signal 9"));
}

TEST_F(Frozen, ARankIsNamedWhoeverMeetsTheDeadline) {
  const int victim = random(3);
  WeftProcess run(endless(3, {"--distributed-timeout-seconds=4"}));
  const auto ranks = run.ranks(3);
  ASSERT_THAT(ranks, SizeIs(3));
  wait_for_steps(run, path("m"), 1);
  ::kill(ranks.at(victim), SIGSTOP);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_LT(ending.took, seconds(4) + kAllGone);
  EXPECT_FALSE(ending.left_processes);
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  EXPECT_THAT(ending.errors()[0],
              HasSubstr("error: rank " + std::to_string(victim) + " does not respond"));
}

// A host that takes the connection and never says a word.
TEST_F(Frozen, TheStoreBeforeRanksMeet) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(file, 5), 0);
  ASSERT_EQ(::getsockname(file, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const Words rank_one = {"env", "RANK=1", "WORLD_SIZE=2",
                          "MASTER_PORT=" + std::to_string(ntohs(address.sin_port))};
  const Ending ending =
      run_to_end(rank_one + endless(2, {"--distributed-timeout-seconds=1"}));
  ::close(file);
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_LT(ending.took, seconds(1) + kAllGone);
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  EXPECT_THAT(ending.errors()[0], HasSubstr("hosted by rank 0"));
}

// Ctrl-Z and fg: a stop longer than the deadline is no stall.
TEST_F(Frozen, AllForAWhile) {
  WeftProcess run(endless(2, {"--distributed-timeout-seconds=4"}));
  const auto ranks = run.ranks(2);
  ASSERT_THAT(ranks, SizeIs(2));
  wait_for_steps(run, path("m"), 1);
  run.signal_group(SIGSTOP);
  std::this_thread::sleep_for(seconds(5));
  const std::size_t before = read_metrics(path("m")).size();
  run.signal_group(SIGCONT);
  EXPECT_GE(wait_for_steps(run, path("m"), before + 20).size(), before + 20);
  EXPECT_FALSE(run.has_ended());
  run.signal_group(SIGINT);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 130) << ending.err;
}

}  // namespace
}  // namespace weft
