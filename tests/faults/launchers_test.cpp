// Ranks of torchrun and mpirun: the same bits as local ranks; a death ends all of them.
#include <gmock/gmock.h>

#include <csignal>

#include "faults/workplace.h"

namespace weft {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Words torchrun(int ranks) {
  return {WEFT_TORCHRUN, "--no-python", "--standalone", "--nproc-per-node", std::to_string(ranks)};
}

Words mpirun(int ranks) {
  return {WEFT_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(ranks)};
}

struct Starter {
  const char* name;
  Words (*command)(int ranks);
};
void PrintTo(const Starter& starter, std::ostream* out) { *out << starter.name; }

class StartedBy : public Workplace, public testing::WithParamInterface<Starter> {
 protected:
  void SetUp() override {
    ASSERT_NE(GetParam().command(1)[0], "")
        << "it was not found when the build was configured: torchrun "
           "comes with the LibTorch wheel, mpirun with openmpi-bin";
  }
};

TEST_P(StartedBy, TheSameBits) {
  const Words flags = four_ranks(2) + Words{"--train-iters=2", "--metrics"};
  const Ending local = run_to_end(train(flags + Words{path("local")}));
  ASSERT_EQ(local.exit_code, 0) << local.err;
  const Ending started = run_to_end(GetParam().command(4) + train(flags + Words{path("started")}));
  EXPECT_EQ(started.exit_code, 0) << started.err;
  EXPECT_THAT(read_metrics(path("local")), SizeIs(2));
  EXPECT_EQ(read_metrics(path("started")), read_metrics(path("local")));
}

// That of rank 0 too, which hosts the store under mpirun.
TEST_P(StartedBy, ADeathEndsAllWithALineFromEachThatIsLeft) {
  const int victim = random(3);
  const Words flags = {"--expert-model-parallel-size=1",
                       "--pipeline-model-parallel-size=3",
                       "--num-microbatches=4",
                       "--train-iters=100000",
                       "--metrics",
                       path("m")};
  WeftProcess run(GetParam().command(3) + train(flags));
  const auto ranks = run.ranks(3);
  ASSERT_THAT(ranks, SizeIs(3));
  wait_for_steps(run, path("m"), 2);
  ::kill(ranks.at(victim), SIGKILL);
  const Ending ending = run.wait();
  EXPECT_NE(ending.exit_code, 0) << ending.err;
  EXPECT_LT(ending.took, kAllGone);
  EXPECT_FALSE(ending.left_processes);
  EXPECT_THAT(ending.errors(), SizeIs(2)) << ending.err;
  EXPECT_THAT(ending.err, Not(HasSubstr("frame #"))) << "a trace of LibTorch's";
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == victim) continue;
    EXPECT_THAT(ending.err, ContainsRegex("weft: error: rank " + std::to_string(rank) + ".* in ."));
  }
}

INSTANTIATE_TEST_SUITE_P(Launcher, StartedBy,
                         testing::Values(Starter{"Torchrun", torchrun}, Starter{"Mpirun", mpirun}),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace weft
