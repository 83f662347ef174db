#include "config/derive.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

Config pipeline_of(int ranks) {
  Config config;
  config.parallel.pipeline_model_parallel_size = ranks;
  return config;
}

TEST(ScheduleMethod, FollowsTheSizes) {
  EXPECT_EQ(schedule_method(pipeline_of(1), {}), "no-pipeline");
  EXPECT_EQ(schedule_method(pipeline_of(4), {}), "1f1b");
  EXPECT_EQ(schedule_method(pipeline_of(4), {.layout_stages = 8}), "interleaved");
  Config config = pipeline_of(4);
  config.schedule.num_virtual_stages_per_pipeline_rank = 3;
  EXPECT_EQ(schedule_method(config, {}), "interleaved");
  config.schedule.schedules_method = "dualpipev";
  EXPECT_EQ(schedule_method(config, {}), "dualpipev");
}

TEST(ChunksPerRank, FollowFromWhatWasGiven) {
  Config config = pipeline_of(2);
  EXPECT_EQ(chunks_per_rank(config, {}), 1);
  EXPECT_EQ(chunks_per_rank(config, {.layout_stages = 6}), 3);
  config.model.num_layers = 8;
  config.schedule.num_layers_per_virtual_pipeline_stage = 1;
  EXPECT_EQ(chunks_per_rank(config, {}), 4);
  config = pipeline_of(2);
  config.schedule.schedules_method = "interleaved";
  EXPECT_EQ(chunks_per_rank(config, {}), 2);
  EXPECT_EQ(resolved(config, {}).schedule.num_virtual_stages_per_pipeline_rank, 2);
}

TEST(DataParallelSize, FollowsFromRanks) {
  Config config = pipeline_of(2);
  EXPECT_EQ(data_parallel_size(config, {}), 1);
  config.parallel.expert_model_parallel_size = 2;
  EXPECT_EQ(data_parallel_size(config, {}), 2);
  config.parallel.data_parallel_size = 4;
  EXPECT_EQ(data_parallel_size(config, {}), 4);
  config.launch.local_ranks = 12;
  EXPECT_EQ(data_parallel_size(config, {}), 6);
  EXPECT_EQ(data_parallel_size(config, {.world_size = 16}), 8);
}

TEST(BatchSizes, FollowFromEachOther) {
  Config config;
  EXPECT_EQ(num_micro_batches(config, {}), std::nullopt);
  config.schedule.global_batch_size = 24;
  config.schedule.micro_batch_size = 2;
  config.parallel.data_parallel_size = 3;
  EXPECT_EQ(num_micro_batches(config, {}), 4);
  config.schedule.micro_batch_size.reset();
  config.schedule.num_microbatches = 2;
  EXPECT_EQ(micro_batch_size(config, {}), 4);
  config.schedule.global_batch_size.reset();
  EXPECT_EQ(micro_batch_size(config, {}), 1);
  EXPECT_EQ(resolved(config, {}).schedule.global_batch_size, 6);
}

TEST(Resolved, FillsInTheModel) {
  Config config;
  config.model.hidden_size = 64;
  config.model.num_attention_heads = 4;
  config.train.train_iters = 7;
  const Config full = resolved(config, {});
  EXPECT_EQ(full.model.ffn_hidden_size, 256);
  EXPECT_EQ(full.model.moe_ffn_hidden_size, 256);
  EXPECT_EQ(full.model.num_query_groups, 4);
  EXPECT_EQ(full.model.kv_channels, 16);
  EXPECT_EQ(full.train.lr_decay_iters, 7);
}

}  // namespace
}  // namespace weft
