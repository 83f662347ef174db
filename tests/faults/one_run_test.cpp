// Processes that would each be a run of its own, and runs that would share what they write.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "faults/workplace.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class OneRun : public Workplace {
 protected:
  Words small(const Words& more) const { return train(Words{"--num-microbatches=1"} + more); }

  void expect_refused(const Words& words, const std::string& error) const {
    const Ending ending = run_to_end(words);
    EXPECT_EQ(ending.exit_code, 2) << ending.err;
    EXPECT_THAT(ending.err, HasSubstr(error));
    EXPECT_EQ(ending.out, "");
  }
};

TEST_F(OneRun, ALauncherThatIsHalfThere) {
  const Words run = small({"--train-iters=1"});
  expect_refused(Words{"env", "RANK=0"} + run, "rendezvous: RANK is set, WORLD_SIZE is not");
  expect_refused(Words{"env", "WORLD_SIZE=2"} + run, "rendezvous: WORLD_SIZE is set, RANK is not");
}

TEST_F(OneRun, FlagsAgainstTheLauncher) {
  const Words started = {"env", "RANK=0", "WORLD_SIZE=2", "MASTER_PORT=1"};
  expect_refused(started + small({"--train-iters=1", "--communicator=threads"}),
                 "threads-are-one-process: --communicator threads: ");
  expect_refused(started + small({"--train-iters=1", "--local-ranks=4"}),
                 "local-ranks-agree: --local-ranks 4: ");
  expect_refused(started + Words{WEFT_BINARY, "data", "prepare", "--input", path("data.bin"),
                                 "--output-prefix", path("out")},
                 "one-process: weft data: torchrun has started 2 ranks");
}

TEST_F(OneRun, ASecondOneInTheSameFolderIsRefused) {
  WeftProcess first(small({"--train-iters=1000000", "--save", path("ckpt"), "--save-interval=2",
                           "--metrics", path("m")}));
  wait_for_steps(first, path("m"), 3);
  const std::string holder = "--save " + path("ckpt") + ": another run is writing there (process ";
  // Not by run_to_end, which ends all that these tests have started.
  const Words second = small({"--train-iters=1", "--save", path("ckpt")});
  std::string script;
  for (const std::string& word : second) script += "'" + word + "' ";
  script += "2> '" + path("err") + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 2);
  std::ifstream file(path("err"));
  const std::string err{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(err, HasSubstr(holder));
  EXPECT_FALSE(first.has_ended());
  first.signal_program(SIGKILL);
  first.wait();
  // A lock goes with its process, however that ended.
  const Ending third = run_to_end(second);
  EXPECT_EQ(third.exit_code, 0) << third.err;
}

}  // namespace
}  // namespace weft
