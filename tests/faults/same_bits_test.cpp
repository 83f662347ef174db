// About a dozen points of the bit-identity matrix with ranks as processes over Gloo: runs that
// share model, data, M, expert and data parallel size log the same loss and digests.
#include <gmock/gmock.h>

#include "faults/workplace.h"

namespace weft {
namespace {

using testing::SizeIs;

class SameBits : public Workplace {
 protected:
  std::vector<LoggedStep> steps_of(int micro_batches, int ep, const Words& way) {
    const std::string metrics = path("m" + std::to_string(num_runs_++));
    const Words sizes = {"--train-iters=2", "--num-microbatches=" + std::to_string(micro_batches),
                         "--expert-model-parallel-size=" + std::to_string(ep), "--metrics",
                         metrics};
    const Ending ending = run_to_end(train(sizes + way));
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    return read_metrics(metrics);
  }

  void expect_same(int micro_batches, int ep, const std::vector<Words>& ways) {
    const std::vector<LoggedStep> expected =
        steps_of(micro_batches, ep, {"--schedules-method=no-pipeline"});
    ASSERT_THAT(expected, SizeIs(2));
    for (const Words& way : ways) {
      EXPECT_EQ(steps_of(micro_batches, ep, way), expected) << testing::PrintToString(way);
    }
  }

 private:
  int num_runs_ = 0;
};

Words on_two(const Words& way) { return Words{"--pipeline-model-parallel-size=2"} + way; }

const Words kNoPipelineOverlap = {"--schedules-method=no-pipeline", "--moe-fb-overlap"};
const Words kOneFOneB = on_two({"--schedules-method=1f1b"});
const Words kInterleaved =
    on_two({"--schedules-method=interleaved", "--num-virtual-stages-per-pipeline-rank=2"});
const Words kDualPipeV = on_two({"--schedules-method=dualpipev"});
const Words kOverlap = {"--moe-fb-overlap"};
const Words kDetach = {"--dualpipev-dw-detach"};

TEST_F(SameBits, UnderEverySchedule) {
  expect_same(3, 1,
              {kNoPipelineOverlap, kOneFOneB, kInterleaved, kInterleaved + kOverlap, kDualPipeV,
               kDualPipeV + kDetach, kDualPipeV + kOverlap, kDualPipeV + kDetach + kOverlap});
}

TEST_F(SameBits, WithExpertsOnTwoRanks) {
  expect_same(
      8, 2,
      {kNoPipelineOverlap, kOneFOneB, kInterleaved + kOverlap, kDualPipeV + kDetach + kOverlap});
}

TEST_F(SameBits, WithOneMicroBatch) {
  expect_same(1, 2, {kNoPipelineOverlap, kInterleaved, kDualPipeV + kDetach + kOverlap});
}

}  // namespace
}  // namespace weft
