#include "support/tiny_run.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <filesystem>

#include "config/derive.h"
#include "train/safetensors.h"

namespace weft {

Config tiny_config(int num_layers) {
  Config config;
  config.model.num_layers = num_layers;
  config.model.hidden_size = 16;
  config.model.ffn_hidden_size = 24;
  config.model.num_attention_heads = 2;
  config.model.num_query_groups = 1;
  config.model.seq_length = 8;
  config.model.vocab_size = 32;
  config.model.num_experts = 4;
  config.model.moe_router_topk = 2;
  config.model.moe_ffn_hidden_size = 12;
  config.model.moe_shared_expert_intermediate_size = 8;
  config.model.moe_aux_loss_coeff = 0.01;
  config.model.first_k_dense_replace = 1;
  config.model.init_method_std = 0.2;  // large enough for every term to show
  config.schedule.micro_batch_size = 1;
  config.train.train_iters = 3;
  config.train.lr = 1e-2;
  config.train.log_digests = true;
  config.train.seed = 7;
  return config;
}

TinyTokens::TinyTokens(int rows, int seq_length, int vocab_size, int seed) {
  at::Generator generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  const at::Tensor tokens = at::randint(vocab_size, {rows, seq_length}, generator, at::kLong);
  at::Tensor labels = at::randint(vocab_size, {rows, seq_length}, generator, at::kLong);
  for (int row = 0; row < rows; ++row) labels[row].narrow(0, 0, row % seq_length).fill_(-100);
  path_ = (std::filesystem::temp_directory_path() /
           ("weft-tokens-" + std::to_string(getpid()) + "-" + std::to_string(seed) + "-" +
            std::to_string(rows) + ".safetensors"))
              .string();
  save_safetensors(path_, {{"labels", labels}, {"tokens", tokens}});
}

TinyTokens::~TinyTokens() { std::remove(path_.c_str()); }

TrainResult run_threads(const Config& config, int world_size, const LocalOptions& options) {
  const Config whole = resolved(config, {.world_size = world_size});
  const RunPlan plan = make_run_plan(whole);
  TrainResult result;
  run_ranks(world_size, options, [&](int rank, const CommunicatorPtr& communicator) {
    TrainResult of_rank = train(whole, plan, *communicator);
    if (rank == 0) result = std::move(of_rank);
  });
  return result;
}

std::string fingerprint(const std::vector<StepMetrics>& steps) {
  std::string text;
  for (const StepMetrics& step : steps) {
    char line[80];
    std::snprintf(line, sizeof line, "%016llx %016llx %016llx\n",
                  static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(step.loss)),
                  static_cast<unsigned long long>(step.gradient_digest.value_or(0)),
                  static_cast<unsigned long long>(step.parameter_digest.value_or(0)));
    text += line;
  }
  return text;
}

}  // namespace weft
