// Ctrl-C: exit code 130 and no process left, at every moment.
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "faults/workplace.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

class Interrupt : public Workplace {
 protected:
  void expect_interrupted(WeftProcess& run, const std::string& when) {
    run.signal_group(SIGINT);
    const Ending ending = run.wait();
    EXPECT_EQ(ending.exit_code, 130) << when << "\n" << ending.err;
    EXPECT_LT(ending.took, kAllGone) << when;
    EXPECT_FALSE(ending.left_processes) << when;
    EXPECT_THAT(ending.errors(), SizeIs(0)) << when << "\n" << ending.err;
    EXPECT_EQ(ending.out, "");
  }

  Words endless() const {
    return train(four_ranks(2) + Words{"--train-iters=100000", "--metrics", path("m")});
  }
};

TEST_F(Interrupt, WhileItStarts) {
  for (int delay_ms : {30, 200, 500}) {
    WeftProcess run(endless());
    std::this_thread::sleep_for(milliseconds(delay_ms + random(100)));
    expect_interrupted(run, std::to_string(delay_ms) + " ms after the start");
  }
}

TEST_F(Interrupt, WhileRanksMeet) {
  for (int delay_ms : {0, 300}) {
    WeftProcess run(endless());
    ASSERT_THAT(run.ranks(4), SizeIs(4));
    std::this_thread::sleep_for(milliseconds(delay_ms + random(300)));
    expect_interrupted(run, std::to_string(delay_ms) + " ms after all ranks were there");
  }
}

TEST_F(Interrupt, InAStep) {
  WeftProcess run(endless());
  wait_for_steps(run, path("m"), 2);
  std::this_thread::sleep_for(milliseconds(random(50)));
  expect_interrupted(run, "in a step");
}

// `kill` by hand reaches the launcher alone.
TEST_F(Interrupt, OfTheLauncherAlone) {
  WeftProcess run(endless());
  wait_for_steps(run, path("m"), 1);
  run.signal_program(SIGINT);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 130) << ending.err;
  EXPECT_FALSE(ending.left_processes);
  EXPECT_THAT(ending.errors(), SizeIs(0)) << ending.err;
}

TEST_F(Interrupt, OfOneProcess) {
  WeftProcess run(train({"--num-microbatches=2", "--train-iters=100000", "--metrics", path("m")}));
  wait_for_steps(run, path("m"), 1);
  expect_interrupted(run, "in a step");
}

// SIGTERM ends a run alike whatever its ranks are: with a line that says where it was.
class Terminate : public Interrupt, public testing::WithParamInterface<const char*> {};

TEST_P(Terminate, SaysWhere) {
  WeftProcess run(train({"--num-microbatches=2", "--train-iters=1000000", "--metrics", path("m"),
                         GetParam()}));
  wait_for_steps(run, path("m"), 1);
  run.signal_program(SIGTERM);
  const Ending ending = run.wait();
  EXPECT_EQ(ending.exit_code, 1) << ending.err;
  EXPECT_LT(ending.took, kAllGone);
  EXPECT_FALSE(ending.left_processes);
  ASSERT_THAT(ending.errors(), SizeIs(1)) << ending.err;
  EXPECT_THAT(ending.errors()[0],
              testing::ContainsRegex("error: terminated by signal 15 .Terminated..* in ."));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Terminate,
                         testing::Values("--local-ranks=1", "--local-ranks=2",
                                         "--communicator=threads"));

// As `nohup` does with SIGHUP, and a shell without job control with SIGINT in the background.
TEST_F(Interrupt, ThatWasIgnoredFromTheStartIsIgnored) {
  for (const char* ranks : {"--local-ranks=1", "--local-ranks=2"}) {
    std::string script = "trap '' INT; exec";
    const Words words = train({"--num-microbatches=2", "--train-iters=12", ranks, "--metrics",
                               path(ranks)});
    for (const std::string& word : words) script += " '" + word + "'";
    WeftProcess run({"sh", "-c", script});
    wait_for_steps(run, path(ranks), 1);
    run.signal_group(SIGINT);
    const Ending ending = run.wait();
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    EXPECT_THAT(read_metrics(path(ranks)), SizeIs(12));
  }
}

}  // namespace
}  // namespace weft
