// The rules of the original: each kept one has its message in tests/error, each lifted one a
// command line that the original refuses and that runs here.
#include "config/rules.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/run_weft.h"
#include "config/flag.h"

namespace weft {
namespace {

constexpr auto kV = "--schedules-method dualpipev ";
constexpr auto kFour = "--pipeline-model-parallel-size 4 --num-microbatches 8 ";
constexpr auto kVirtual = "--num-virtual-stages-per-pipeline-rank 2 ";

const std::map<std::string, std::string, std::less<>> kLifted = {
    {"dualpipev-one-rank",
     std::string("simulate --pipeline-model-parallel-size 1 --num-microbatches 3 ") + kV},
    {"dualpipev-layers", std::string("simulate --num-layers 7 ") + kFour + kV},
    {"dualpipev-micro-batches",
     std::string("simulate --pipeline-model-parallel-size 4 --num-microbatches 1 ") + kV},
    {"dualpipev-untied-embeddings", std::string("simulate --num-layers 8 ") + kFour + kV},
    {"dualpipev-layout",
     std::string("simulate --pipeline-model-parallel-layout 'Et|(tt|)*6tL' ") + kFour + kV},
    {"dualpipev-grad-reduce",
     std::string("schedule --level transfers --data-parallel-size 2 --overlap-grad-reduce ") +
         kFour + kV},
    {"overlap-grouped-gemm",
     std::string("simulate --num-experts 8 --moe-fb-overlap ") + kFour + kV},
    {"overlap-expert-ranks", std::string("schedule --level steps --num-layers 8 --num-experts 8 "
                                         "--expert-model-parallel-size 1 --moe-fb-overlap ") +
                                 kFour + kV},
    {"overlap-micro-batches",
     std::string("simulate --pipeline-model-parallel-size 4 --num-microbatches 3 "
                 "--moe-fb-overlap ") +
         kVirtual},
    {"overlap-noop-layers", std::string("schedule --level steps --num-layers 8 --noop-layers 0,3 "
                                        "--num-experts 8 --moe-fb-overlap ") +
                                kFour + kVirtual},
    {"layout-noop-layers",
     std::string("schedule --level steps --num-layers 8 --noop-layers 0,7 --num-experts 8 "
                 "--pipeline-model-parallel-layout 'Et|(t|)*6tL' --moe-fb-overlap ") +
         kFour + kV},
    {"overlap-empty-chunks",
     std::string("schedule --level steps --num-layers 8 --num-experts 8 --moe-fb-overlap "
                 "--pipeline-model-parallel-layout 'E|(tt|)*2t||tt|t|L' ") +
         kFour + kV},
    {"overlap-grad-reduce",
     std::string("schedule --level transfers --data-parallel-size 2 --overlap-grad-reduce "
                 "--moe-fb-overlap ") +
         kFour + kVirtual},
    {"layout-mtp-place", "layout 'Et|t|tm|mL' --mtp-num-layers 2 --pipeline-model-parallel-size 2"},
};

bool asks_for_what_is_not_built(const std::string& command) {
  return std::ranges::any_of(flag_table(), [&](const Flag& flag) {
    return flag.traits.status == FlagStatus::NotYet && is_switch(flag) &&
           command.find("--" + std::string(flag.name) + " ") != std::string::npos;
  });
}

TEST(OriginalRules, EachLiftedOneRuns) {
  for (const Rule& rule : original_rules()) {
    if (rule.verdict != Verdict::Lifted) continue;
    const auto command = kLifted.find(rule.name);
    ASSERT_NE(command, kLifted.end()) << rule.name;
    if (asks_for_what_is_not_built(command->second)) continue;
    const WeftRun run = run_weft(command->second);
    EXPECT_EQ(run.exit_code, 0) << rule.name << ": weft " << command->second << "\n" << run.err;
    EXPECT_NE(run.out, "") << rule.name;
  }
}

TEST(OriginalRules, EachKeptOneHasItsMessage) {
  std::string messages;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_ERROR_CASES)) {
    if (entry.path().extension() == ".txt") messages += slurp(entry.path().string());
  }
  for (const Rule& rule : original_rules()) {
    if (rule.verdict != Verdict::Kept) continue;
    EXPECT_NE(messages.find("\nweft: error: " + std::string(rule.name) + ": "), std::string::npos)
        << rule.name;
  }
}

}  // namespace
}  // namespace weft
