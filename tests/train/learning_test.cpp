// It learns: a small run over-fits four sequences.
#include <gtest/gtest.h>

#include "support/tiny_run.h"

namespace weft {
namespace {

TEST(Learning, FourSequencesAreLearntByHeart) {
  Config config = tiny_config(4);
  const TinyTokens tokens(4, 8, 32, /*seed=*/11);
  config.model.hidden_size = 32;
  config.train.token_file = tokens.path();
  config.train.train_iters = 150;
  config.train.lr = 1e-2;
  config.train.weight_decay = 0;
  config.train.log_digests = false;
  config.model.moe_aux_loss_coeff = 0;
  config.schedule.num_microbatches = 2;
  config.schedule.schedules_method = "dualpipev";
  config.schedule.moe_fb_overlap = true;
  config.schedule.dualpipev_dw_detach = true;
  config.parallel.pipeline_model_parallel_size = 2;
  config.parallel.expert_model_parallel_size = 2;
  const TrainResult result = run_threads(config, 4);
  EXPECT_GT(result.steps.front().loss, 3.0);
  EXPECT_LT(result.steps.back().loss, 0.05);
}

}  // namespace
}  // namespace weft
