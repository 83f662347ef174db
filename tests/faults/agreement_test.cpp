// Ranks that are not of one run: other flags, other files, other numbers. By hand, since our own
// launcher gives all ranks the same.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "faults/workplace.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

struct Mismatch {
  const char* name;
  Words first, second;  // of rank 0 and rank 1, %/ standing for the test's folder
  const char* found;    // on rank 1
  const char* message;
};
void PrintTo(const Mismatch& mismatch, std::ostream* out) { *out << mismatch.name; }

class Agreement : public Workplace {
 protected:
  Words rank(const Words& more) const {
    Words words = train(Words{"--num-microbatches=1", "--train-iters=1", "--save", path("ckpt")});
    for (std::string word : more) {
      const std::size_t at = word.find("%/");
      if (at != std::string::npos) word.replace(at, 2, path(""));
      words.push_back(word);
    }
    return words;
  }
};

class Differ : public Agreement, public testing::WithParamInterface<Mismatch> {};

TEST_P(Differ, IsSaidByAllAndNothingIsWritten) {
  std::ofstream(path("a.toml")) << "[wires]\ndispatch = 1.0\n";
  std::ofstream(path("b.toml")) << "[wires]\ndispatch = 2.0\n";
  const Mismatch& mismatch = GetParam();
  const Ending ending =
      run_to_end(by_hand(free_port(), {rank(mismatch.first), rank(mismatch.second)}));
  EXPECT_THAT(ending.out, AllOf(HasSubstr("rank 0: 2\n"), HasSubstr("rank 1: 2\n"))) << ending.err;
  EXPECT_THAT(ending.errors(), SizeIs(2)) << ending.err;
  EXPECT_THAT(ending.errors(), Each(AllOf(HasSubstr("ranks-agree: "), HasSubstr(mismatch.found),
                                          HasSubstr(mismatch.message))));
  EXPECT_FALSE(std::filesystem::exists(path("ckpt")));
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Differ,
    testing::Values(
        Mismatch{"AnyFlag", {}, {"--adam-beta1=0.5"}, "--adam-beta1 0.5 on rank 1",
                 "rank 0 has --adam-beta1 0.9"},
        Mismatch{"Schedule",
                 {"--pipeline-model-parallel-size=2", "--schedules-method=gpipe"},
                 {"--pipeline-model-parallel-size=2", "--schedules-method=zb-h1"},
                 "--schedules-method zb-h1 on rank 1", "rank 0 has --schedules-method gpipe"},
        Mismatch{"SaveGradients", {}, {"--save-gradients=%/g"}, "--save-gradients ",
                 "rank 0 has no --save-gradients"},
        Mismatch{"Costs",
                 {"--costs=%/a.toml"},
                 {"--costs=%/b.toml"},
                 "b.toml on rank 1",
                 "a.toml"}),
    [](const auto& made) { return made.param.name; });

TEST_F(Agreement, TheSameFileElsewhereIsTheSame) {
  for (const char* end : {".bin", ".idx"}) {
    std::filesystem::copy(path(std::string("data") + end), path(std::string("copy") + end));
  }
  Words second = rank({});
  for (std::string& word : second) {
    if (word == path("data")) word = path("copy");
  }
  const Ending ending = run_to_end(by_hand(free_port(), {rank({}), second}));
  EXPECT_THAT(ending.out, AllOf(HasSubstr("rank 0: 0\n"), HasSubstr("rank 1: 0\n"))) << ending.err;
}

TEST_F(Agreement, RanksThatDoNotComeAreNamed) {
  const Words flags = rank({"--distributed-timeout-seconds=4"});
  const Ending ending = run_to_end(by_hand(free_port(), {flags, flags, {"true"}, {"true"}}));
  EXPECT_THAT(ending.out, AllOf(HasSubstr("rank 0: 1\n"), HasSubstr("rank 1: 1\n"))) << ending.err;
  EXPECT_THAT(ending.errors(), Each(HasSubstr("ranks 2, 3 did not come within 4 s")));
}

TEST_F(Agreement, ARankIsThereOnce) {
  const Words flags = rank({"--distributed-timeout-seconds=4"});
  const Words again = Words{"env", "RANK=1"} + flags;
  const Ending ending = run_to_end(by_hand(free_port(), {flags, flags, again}));
  EXPECT_THAT(ending.err, HasSubstr("as this rank")) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("rank 2 did not come within 4 s")) << ending.err;
}

}  // namespace
}  // namespace weft
