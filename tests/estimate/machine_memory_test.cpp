#include "estimate/machine_memory.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "config/derive.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Two layers, H = 4, two heads, F = 8, V = 10, tied: a layer has 2 norms of 4, q, k, v, o of 16
// each and gate, up, down of 32 each; beside them 4 of the last norm, and 40 of the tied matrix at
// each end of the model.
constexpr std::int64_t kLayer = 2 * 4 + 4 * 16 + 3 * 32;
constexpr std::int64_t kAll = 2 * kLayer + 2 * 40 + 4;

Config small() {
  Config config;
  config.model.num_layers = 2;
  config.model.hidden_size = 4;
  config.model.num_attention_heads = 2;
  config.model.ffn_hidden_size = 8;
  config.model.seq_length = 4;
  config.model.vocab_size = 10;
  config.schedule.num_microbatches = 1;
  return config;
}

std::int64_t bytes_of(Config config) {
  config = resolved(config, {});
  return state_bytes(config, make_step_plan(config));
}

// Weight, gradient and two running means, 4 bytes each.
TEST(MachineMemory, FourValuesAParameter) { EXPECT_EQ(bytes_of(small()), 16 * kAll); }

TEST(MachineMemory, EveryRankHasItsOwn) {
  Config config = small();
  config.parallel.data_parallel_size = 3;
  EXPECT_EQ(bytes_of(config), 3 * 16 * kAll);
  config = small();
  config.parallel.pipeline_model_parallel_size = 2;
  EXPECT_EQ(bytes_of(config), 16 * kAll);
}

TEST(MachineMemory, WhatCannotFitIsRefused) {
  EXPECT_NO_THROW(require_memory(1024, 1024));
  try {
    require_memory(std::int64_t{96} << 30, std::int64_t{24} << 30);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("need 96.0 GiB, it has 24.0 GiB"));
  }
}

TEST(MachineMemory, ThisMachineHasSome) {
  EXPECT_GT(machine_memory_bytes(), std::int64_t{1} << 26);
}

}  // namespace
}  // namespace weft
