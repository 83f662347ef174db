#include "train/sample_run.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <map>
#include <vector>

#include "base/error.h"
#include "comm/local.h"
#include "config/derive.h"
#include "config/model_flags.h"
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

Config with_model_of_checkpoint(const Config& given) {
  const std::string& directory = given.train.load;
  const std::map<std::string, std::string> saved =
      read_manifest(find_iteration(directory)).state.config;
  const std::map<std::string, std::string> asked = model_flags(given);
  const std::map<std::string, std::string> defaults = model_flags(Config{});
  std::vector<Violation> violations;
  for (const auto& [flag, value] : asked) {
    const auto is = saved.find(flag);
    const auto default_value = defaults.find(flag);
    const bool is_given = default_value == defaults.end() || default_value->second != value;
    if (!is_given || (is != saved.end() && is->second == value)) continue;
    violations.push_back({"checkpoint-model", "--" + flag + " " + value,
                          "the checkpoint in " + directory + " was trained with " +
                              (is == saved.end() ? "none" : is->second) + "; leave the flag out"});
  }
  Config config = given;
  const std::vector<Violation> refused = set_model_flags(saved, directory, config);
  violations.insert(violations.end(), refused.begin(), refused.end());
  if (!violations.empty()) throw UserError(std::move(violations));
  return config;
}

std::string sample_from_checkpoint(const Config& given) {
  Config config = given;
  config.parallel = {};
  config.schedule = {};
  config.schedule.num_microbatches = 1;
  config = resolved(config, {.world_size = 1});
  const RunPlan plan = make_run_plan(config);
  LocalWorld world(1);
  const CommunicatorPtr communicator = world.rank(0);
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
