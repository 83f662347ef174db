// What `weft plan` says of parameters and memory is what a run allocates.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/derive.h"
#include "estimate/plan_estimate.h"
#include "overlap/stage_runner.h"
#include "support/tiny_run.h"

namespace weft {
namespace {

struct Cut {
  std::string method;
  int pp = 1;
  int dp = 1;
  int ep = 1;
  int chunks = 1;
  bool overlap = false;
  bool detach = false;
};

Config config_of(const Cut& cut) {
  Config config = tiny_config(5);
  config.schedule.schedules_method = cut.method;
  config.schedule.num_microbatches = 6;
  config.schedule.moe_fb_overlap = cut.overlap;
  config.schedule.dualpipev_dw_detach = cut.detach;
  if (cut.chunks > 1) config.schedule.num_virtual_stages_per_pipeline_rank = cut.chunks;
  config.parallel.pipeline_model_parallel_size = cut.pp;
  config.parallel.data_parallel_size = cut.dp;
  config.parallel.expert_model_parallel_size = cut.ep;
  return config;
}

// The parameters of a rank as a run makes them.
ParameterStore store_of(const Config& config, const Layout& layout, const Coordinates& at) {
  ParameterStore store;
  store.compute_type = config.train.params_dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  WgradStore wgrads;
  HandOver hand_over;
  const ExpertShard shard{at.ep, config.parallel.expert_model_parallel_size};
  for (int chunk = 0; chunk < layout.map.chunks_per_rank; ++chunk) {
    const Stage stage = layout.map.stage_of(Rank(at.pp), Chunk(chunk));
    StageRunner(config.model, layout, stage, shard, store, wgrads, hand_over);
  }
  return store;
}

TEST(PlanAgrees, ParametersAndTheirBytesOnEveryRank) {
  for (const bool untied : {false, true}) {
    for (const char* dtype : {"fp32", "bf16"}) {
      for (const Cut& cut : {Cut{"no-pipeline", 1, 4, 2}, Cut{"1f1b", 3, 2, 2},
                             Cut{"interleaved", 2, 4, 4, 2}, Cut{"dualpipev", 2, 1, 1}}) {
        SCOPED_TRACE(cut.method + " " + dtype + (untied ? " untied" : ""));
        Config config = config_of(cut);
        config.model.untie_embeddings_and_output_weights = untied;
        config.train.params_dtype = dtype;
        config = resolved(config, {});
        const RunPlan plan = make_step_plan(config);
        const ModelSizes sizes = model_sizes(config);
        for (int rank = 0; rank < plan.mesh.world_size(); ++rank) {
          const Coordinates at = coordinates_of(plan.mesh, Rank(rank));
          const ParameterStore store = store_of(config, plan.layout, at);
          std::int64_t elements = 0, experts = 0, weights = 0, gradients = 0;
          for (const Parameter& parameter : store.parameters) {
            elements += parameter.main.numel();
            if (parameter.expert) experts += parameter.main.numel();
            weights += static_cast<std::int64_t>(parameter.main.nbytes());
            gradients += static_cast<std::int64_t>(parameter.grad.nbytes());
            if (!parameter.compute.is_same(parameter.main)) {
              weights += static_cast<std::int64_t>(parameter.compute.nbytes());
            }
          }
          const ParameterCount count = count_rank(sizes, plan.layout, Rank(at.pp), cut.ep);
          EXPECT_EQ(count.total(), elements);
          EXPECT_EQ(count.all_experts(), experts);
          const MemoryReport memory = memory_of(count, element_bytes(dtype), 0);
          EXPECT_EQ(memory.weights, weights);
          EXPECT_EQ(memory.gradients, gradients);
        }
      }
    }
  }
}

// Tables, counts of tokens and sums of norms' gradients are left out; with several expert ranks
// routing is not as even as the plan takes it to be.
TEST(PlanAgrees, PeakOfActivations) {
  for (const char* dtype : {"fp32", "bf16"}) {
    for (const Cut& cut :
         {Cut{"no-pipeline"}, Cut{"no-pipeline", 1, 1, 1, 1, true}, Cut{"1f1b", 2},
          Cut{"interleaved", 2, 1, 1, 2, true}, Cut{"dualpipev", 2, 1, 1, 2, true, true},
          Cut{"dualpipev", 2}, Cut{"1f1b", 2, 2, 2}}) {
      SCOPED_TRACE(cut.method + " " + dtype + " EP " + std::to_string(cut.ep));
      Config config = config_of(cut);
      config.schedule.num_virtual_stages_per_pipeline_rank.reset();
      if (cut.method == "interleaved") config.schedule.num_virtual_stages_per_pipeline_rank = 2;
      config.train.params_dtype = dtype;
      const int world_size = cut.pp * cut.dp;
      const TinyTokens tokens(6 * cut.dp, config.model.seq_length, config.model.vocab_size, 3);
      config.train.token_file = tokens.path();
      const TrainResult measured = run_threads(config, world_size);
      const PlanEstimate estimate = estimate_plan(resolved(config, {.world_size = world_size}));
      std::int64_t predicted = 0;
      for (const RankActivations& rank : estimate.activations) {
        predicted = std::max(predicted, rank.peak);
      }
      const auto peak = static_cast<double>(measured.steps.back().peak_activation_bytes);
      EXPECT_NEAR(static_cast<double>(predicted), peak, (cut.ep > 1 ? 0.25 : 0.15) * peak);
    }
  }
}

}  // namespace
}  // namespace weft
