#include "train/sample_run.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <vector>

#include "comm/local.h"
#include "config/derive.h"
#include "train/checkpoint.h"
#include "train/engine.h"
#include "train/sample.h"

namespace weft {
namespace {

constexpr std::int64_t kNotCounted = -100;

std::vector<float> last_logits(Engine& engine, const std::vector<std::int64_t>& tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  MicroBatchData data;
  data.tokens = at::tensor(tokens, at::kLong).view({1, length});
  data.labels = at::full({1, length}, kNotCounted, at::kLong);
  const at::Tensor logits = engine.logits({data}).front()[0][length - 1].to(at::kFloat).cpu();
  const at::Tensor row = logits.contiguous();
  return {row.data_ptr<float>(), row.data_ptr<float>() + row.numel()};
}

}  // namespace

std::string sample_from_checkpoint(const Config& given) {
  Config config = given;
  config.parallel = {};
  config.schedule = {};
  config.schedule.num_microbatches = 1;
  config = resolved(config, {.world_size = 1});
  const RunPlan plan = make_run_plan(config);
  LocalWorld world(1);
  const CommunicatorPtr communicator = world.rank(0);
  require_prompt_tokens(config.sample.prompt, config.model.vocab_size);
  Engine engine(config, plan, *communicator);
  load_checkpoint(config.train.load, engine.parameters(), nullptr, *engine.groups().world);
  const SampleOptions options{.max_new_tokens = config.sample.max_new_tokens,
                              .temperature = config.sample.temperature,
                              .top_k = config.sample.top_k,
                              .seed = config.train.seed,
                              .context_length = config.model.seq_length};
  return sample_text([&engine](const auto& tokens) { return last_logits(engine, tokens); },
                     config.sample.prompt, options);
}

}  // namespace weft
