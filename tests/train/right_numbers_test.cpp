// The engine against a plain model on LibTorch's ordinary autograd, in double: loss and every
// gradient, for every schedule, pipeline and expert parallel size.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "config/derive.h"
#include "support/plain_model.h"
#include "support/tiny_run.h"
#include "train/engine.h"
#include "train/safetensors.h"
#include "train/unsharded.h"

namespace weft {
namespace {

using testing::PlainBatch;
using testing::Weights;

struct Case {
  std::string name;
  std::string method;
  int pp = 1;
  int ep = 1;
  int dp = 0;  // 0: as ep
  bool overlap = false;
  bool detach = false;
  bool untied = false;
  bool zero_router = false;  // all logits equal: the same two experts for every token
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

Config config_of(const Case& c) {
  Config config = tiny_config(4);
  config.train.params_dtype = "fp64";
  config.model.moe_z_loss_coeff = 0.002;
  config.model.moe_aux_loss_coeff = 0.05;
  config.model.untie_embeddings_and_output_weights = c.untied;
  config.schedule.num_microbatches = 3;
  config.schedule.schedules_method = c.method;
  config.schedule.moe_fb_overlap = c.overlap;
  config.schedule.dualpipev_dw_detach = c.detach;
  config.parallel.pipeline_model_parallel_size = c.pp;
  config.parallel.expert_model_parallel_size = c.ep;
  if (c.method == "interleaved") config.schedule.num_virtual_stages_per_pipeline_rank = 2;
  return config;
}

// Micro-batches [m * DP + d] with unequal numbers of counted labels.
std::vector<MicroBatchData> make_data(const ModelConfig& model, int count) {
  std::vector<MicroBatchData> data;
  at::Generator generator = at::detail::createCPUGenerator(5);
  for (int i = 0; i < count; ++i) {
    MicroBatchData batch;
    batch.tokens = at::randint(model.vocab_size, {1, model.seq_length}, generator, at::kLong);
    batch.labels = at::randint(model.vocab_size, {1, model.seq_length}, generator, at::kLong);
    batch.labels.narrow(1, 0, i % model.seq_length).fill_(-100);
    data.push_back(batch);
  }
  return data;
}

std::int64_t count_labels(const std::vector<MicroBatchData>& data) {
  std::int64_t count = 0;
  for (const MicroBatchData& batch : data) count += (batch.labels >= 0).sum().item<std::int64_t>();
  return count;
}

void set_weights(ParameterStore& store, bool zero_router) {
  for (Parameter& parameter : store.parameters) {
    for (NamedSlice& slice : parameter.slices) {
      if (zero_router && slice.name.ends_with(".mlp.gate.weight")) slice.main.zero_();
    }
  }
  store.refresh_compute();
}

class RightNumbers : public ::testing::TestWithParam<Case> {};

TEST_P(RightNumbers, AgreeWithThePlainModel) {
  const Case c = GetParam();
  const int dp = c.dp == 0 ? c.ep : c.dp;
  const Config config = resolved(config_of(c), {.world_size = c.pp * dp});
  const RunPlan plan = make_run_plan(config);
  const std::vector<MicroBatchData> data = make_data(config.model, 3 * dp);
  const std::int64_t valid_labels = count_labels(data);
  const std::string file = (std::filesystem::temp_directory_path() /
                            ("weft-grad-" + std::to_string(getpid()) + c.name + ".safetensors"))
                               .string();
  const std::string weight_file = file + ".weights";
  StepLosses losses;
  run_ranks(c.pp * dp, {}, [&](int rank, const CommunicatorPtr& communicator) {
    Engine engine(config, plan, *communicator);
    set_weights(engine.parameters(), c.zero_router);
    StepInput input;
    input.valid_labels = valid_labels;
    for (int m = 0; m < 3; ++m) {
      input.micro_batches.push_back(data[m * dp + engine.coordinates().dp]);
    }
    const StepRecord record = engine.forward_backward(input);
    Group& world = *engine.groups().world;
    save_unsharded(weight_file, engine.parameters(), &NamedSlice::main, world);
    save_unsharded(file, engine.parameters(), &NamedSlice::grad, world);
    if (rank == 0) losses = record.losses;
  });

  Weights weights;
  const SafetensorsFile weights_in(weight_file);
  for (const auto& [name, entry] : weights_in.entries()) weights[name] = weights_in.tensor(name);
  std::vector<PlainBatch> batches;
  for (const MicroBatchData& batch : data) batches.push_back({batch.tokens, batch.labels});
  const testing::PlainResult expected =
      testing::plain_model(config.model, plan.layout.layer_kinds, weights, batches);

  EXPECT_NEAR(losses.loss, expected.loss, 1e-12 * expected.loss);
  EXPECT_NEAR(losses.aux_loss, expected.aux_loss, 1e-12 * expected.aux_loss);
  const SafetensorsFile gradients(file);
  ASSERT_EQ(gradients.entries().size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    const at::Tensor found = gradients.tensor(name);
    const double norm = gradient.norm().item<double>();
    const double difference = (found - gradient).norm().item<double>();
    EXPECT_LE(difference, 1e-10 * norm + 1e-300) << name << " of norm " << norm;
  }
  std::remove(file.c_str());
  std::remove(weight_file.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, RightNumbers,
    ::testing::Values(Case{"P1", "no-pipeline"}, Case{"P1Overlap", "no-pipeline", 1, 1, 0, true},
                      Case{"P1Ep2", "no-pipeline", 1, 2},
                      Case{"P1Ep2Overlap", "no-pipeline", 1, 2, 0, true},
                      Case{"P1Dp2", "no-pipeline", 1, 1, 2},
                      Case{"P1Dp4Ep2", "no-pipeline", 1, 2, 4}, Case{"OneFOneB", "1f1b", 2, 1},
                      Case{"OneFOneBEp2", "1f1b", 2, 2},
                      Case{"OneFOneBUntied", "1f1b", 2, 2, 0, false, false, true},
                      Case{"Interleaved", "interleaved", 2, 2},
                      Case{"InterleavedOverlap", "interleaved", 2, 2, 0, true},
                      Case{"DualPipeV", "dualpipev", 2, 1}, Case{"DualPipeVEp2", "dualpipev", 2, 2},
                      Case{"DualPipeVDetach", "dualpipev", 2, 2, 0, false, true},
                      Case{"DualPipeVOverlap", "dualpipev", 2, 2, 0, true},
                      Case{"DualPipeVBoth", "dualpipev", 2, 2, 0, true, true},
                      Case{"DualPipeVBothUntied", "dualpipev", 2, 2, 0, true, true, true},
                      Case{"NothingToOneRank", "dualpipev", 2, 2, 0, true, true, false, true},
                      Case{"NothingToOneRankP1", "no-pipeline", 1, 2, 0, true, false, false, true}),
    name_of);

}  // namespace
}  // namespace weft
