// Rules on sizes: of the model, of batches, of ranks; and what a verb cannot do without.
#include <algorithm>

#include "base/names.h"
#include "base/numbers.h"
#include "config/rules.h"

namespace weft {
namespace {

constexpr VerbSet kTrainAlone = verbs(Verb::Train);
constexpr VerbSet kPlanAlone = verbs(Verb::Plan);

std::string remainder_text(std::int64_t value, std::int64_t divisor) {
  return std::to_string(value) + " is no multiple of " + std::to_string(divisor);
}

std::string both(const RuleInput& input, std::string_view a, std::string_view b) {
  return input.request.found(a) + " and " + input.request.found(b);
}

RuleBreak micro_batches_known(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (schedule.num_microbatches.has_value()) return {};
  if (schedule.global_batch_size.has_value() && schedule.micro_batch_size.has_value()) return {};
  return {"--num-microbatches not given",
          "the number of micro-batches is not known: give --num-microbatches, or "
          "--global-batch-size, --micro-batch-size and --data-parallel-size"};
}

RuleBreak batch_divides(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (!schedule.global_batch_size.has_value() || !schedule.micro_batch_size.has_value()) return {};
  const int dp = data_parallel_size(input.config, input.facts);
  const std::int64_t round = std::int64_t{*schedule.micro_batch_size} * dp;
  if (*schedule.global_batch_size % round == 0) return {};
  return {both(input, "global-batch-size", "micro-batch-size"),
          remainder_text(*schedule.global_batch_size, round) +
              " (micro-batch size * data parallel "
              "size " +
              std::to_string(dp) + ")"};
}

RuleBreak batch_agrees(const RuleInput& input) {
  const ScheduleConfig& schedule = input.config.schedule;
  if (!schedule.global_batch_size.has_value() || !schedule.num_microbatches.has_value()) return {};
  const int dp = data_parallel_size(input.config, input.facts);
  const std::int64_t rows = std::int64_t{*schedule.num_microbatches} * dp;
  const std::int64_t batch = *schedule.global_batch_size;
  const bool agrees = schedule.micro_batch_size.has_value()
                          ? batch == rows * *schedule.micro_batch_size
                          : batch % rows == 0;
  if (agrees) return {};
  return {both(input, "global-batch-size", "num-microbatches"),
          "the global batch is micro-batch size * micro-batches * data parallel size (" +
              std::to_string(dp) + "): leave one of them out"};
}

RuleBreak heads_divide_hidden(const RuleInput& input) {
  const ModelConfig& model = input.config.model;
  if (model.hidden_size == 0 || model.num_attention_heads == 0 || model.kv_channels != 0) return {};
  if (model.hidden_size % model.num_attention_heads == 0) return {};
  return {both(input, "hidden-size", "num-attention-heads"),
          remainder_text(model.hidden_size, model.num_attention_heads) +
              "; give --kv-channels for heads of another size"};
}

RuleBreak head_size_even(const RuleInput& input) {
  const ModelConfig& model = input.config.model;
  int size = model.kv_channels;
  if (size == 0 && model.num_attention_heads > 0) {
    if (model.hidden_size % model.num_attention_heads != 0) return {};
    size = model.hidden_size / model.num_attention_heads;
  }
  if (size % 2 == 0) return {};
  return {model.kv_channels != 0 ? input.request.found("kv-channels")
                                 : both(input, "hidden-size", "num-attention-heads"),
          "a head has " + std::to_string(size) + " channels; rotary positions need an even number"};
}

RuleBreak groups_divide_heads(const RuleInput& input) {
  const ModelConfig& model = input.config.model;
  if (model.num_query_groups == 0 || model.num_attention_heads == 0) return {};
  if (model.num_attention_heads % model.num_query_groups == 0) return {};
  return {both(input, "num-attention-heads", "num-query-groups"),
          remainder_text(model.num_attention_heads, model.num_query_groups)};
}

RuleBreak experts_divide(const RuleInput& input) {
  const int experts = input.config.model.num_experts;
  const int ranks = input.config.parallel.expert_model_parallel_size;
  if (experts == 0 || experts % ranks == 0) return {};
  return {both(input, "num-experts", "expert-model-parallel-size"), remainder_text(experts, ranks)};
}

RuleBreak expert_ranks_need_experts(const RuleInput& input) {
  if (input.config.model.num_experts != 0 || !input.config.train.load.empty()) return {};
  if (input.config.parallel.expert_model_parallel_size == 1) return {};
  return {input.request.found("expert-model-parallel-size"),
          "there are no experts to share: add --num-experts or give 1"};
}

RuleBreak expert_ranks_divide_data(const RuleInput& input) {
  const int experts = input.config.parallel.expert_model_parallel_size;
  const bool known = input.config.parallel.data_parallel_size.has_value() ||
                     input.config.launch.local_ranks.has_value() ||
                     input.facts.world_size.has_value();
  const int dp = data_parallel_size(input.config, input.facts);
  if (!known || dp % experts == 0) return {};
  return {input.request.found("expert-model-parallel-size"),
          "the data parallel size " + remainder_text(dp, experts)};
}

RuleBreak topk_within_experts(const RuleInput& input) {
  const ModelConfig& model = input.config.model;
  if (model.num_experts == 0 || model.moe_router_topk <= model.num_experts) return {};
  if (!contains(kTrainAlone, input.request.verb) && !input.request.given("moe-router-topk"))
    return {};
  return {both(input, "moe-router-topk", "num-experts"),
          "a token cannot go to more experts than there are: at most " +
              std::to_string(model.num_experts)};
}

// `0,31`, also with brackets or blanks.
RuleBreak noop_layers_exist(const RuleInput& input) {
  std::string text = input.config.model.noop_layers;
  std::erase_if(text, [](char c) { return c == ' ' || c == '[' || c == ']'; });
  const std::optional<int> layers = input.config.model.num_layers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::optional<std::int64_t> layer = parse_int64(word);
    if (!layer.has_value() || *layer < 0 || (layers.has_value() && *layer >= *layers)) {
      return {input.request.found("noop-layers"),
              "`" + word + "` is no layer; layers are numbered from 0" +
                  (layers.has_value() ? " to " + std::to_string(*layers - 1) : "")};
    }
    at = end + 1;
  }
  return {};
}

RuleBreak ranks_fit_sizes(const RuleInput& input) {
  const std::optional<int> ranks =
      input.facts.world_size.has_value() ? input.facts.world_size : input.config.launch.local_ranks;
  if (!ranks.has_value()) return {};
  const ParallelConfig& parallel = input.config.parallel;
  const char* flag = input.request.given("ranks") ? "ranks" : "local-ranks";
  const std::string found = input.facts.world_size.has_value()
                                ? std::to_string(*ranks) + " ranks started by the launcher"
                                : input.request.found(flag);
  const std::int64_t model_ranks =
      std::int64_t{parallel.pipeline_model_parallel_size} * parallel.tensor_model_parallel_size;
  if (*ranks % model_ranks != 0) {
    return {found, remainder_text(*ranks, model_ranks) + " (pipeline ranks * tensor ranks)"};
  }
  const std::optional<int> given = parallel.data_parallel_size;
  if (!given.has_value() || *ranks == model_ranks * *given) return {};
  return {found + " and " + input.request.found("data-parallel-size"),
          "ranks / pipeline ranks is " + std::to_string(*ranks / model_ranks) +
              ": leave --data-parallel-size out or give that"};
}

// The flags of a model's sizes that were not given.
std::string missing_sizes(const RuleInput& input) {
  std::string missing;
  const auto need = [&](std::string_view flag, bool is_missing) {
    if (is_missing && !input.request.broken.contains(flag)) {
      missing += (missing.empty() ? "--" : ", --") + std::string(flag);
    }
  };
  const ModelConfig& model = input.config.model;
  need("num-layers", !model.num_layers.has_value());
  need("hidden-size", model.hidden_size == 0);
  need("num-attention-heads", model.num_attention_heads == 0);
  need("seq-length", model.seq_length == 0 && input.config.train.token_file.empty());
  need("vocab-size", model.vocab_size == 0);
  return missing;
}

RuleBreak train_needs_sizes(const RuleInput& input) {
  const std::string missing = missing_sizes(input);
  if (missing.empty() || !input.config.train.load.empty()) return {};
  return {missing + " not given", "a model to train needs them; or --load a model"};
}

RuleBreak plan_needs_sizes(const RuleInput& input) {
  const std::string missing = missing_sizes(input);
  if (missing.empty()) return {};
  return {missing + " not given",
          "a run cannot be planned without them: give them, or a model by --model"};
}

RuleBreak search_needs_ranks(const RuleInput& input) {
  if (!input.config.plan.search || input.request.given("ranks")) return {};
  return {"--search without --ranks", "say how many ranks there are: --ranks 64"};
}

RuleBreak search_tries_built_in(const RuleInput& input) {
  const std::string& method = input.config.schedule.schedules_method;
  if (!input.config.plan.search || (method != "auto" && !is_schedule_file(method))) return {};
  return {
      input.request.found("schedules-method") + " with --search",
      "the search tries the built-in schedules: leave the flag out, then plan with it at the sizes "
      "that the search finds"};
}

RuleBreak train_needs_iters(const RuleInput& input) {
  if (input.config.train.train_iters > 0) return {};
  return {"--train-iters not given", "say how many steps to train"};
}

RuleBreak train_needs_data(const RuleInput& input) {
  const TrainConfig& train = input.config.train;
  if (train.data_path.empty() && train.token_file.empty()) {
    return {"neither --data-path nor --token-file given", "say what to train on: give one of them"};
  }
  if (!train.data_path.empty() && !train.token_file.empty()) {
    return {both(input, "data-path", "token-file"), "give one of them"};
  }
  return {};
}

RuleBreak learning_rate_order(const RuleInput& input) {
  const TrainConfig& train = input.config.train;
  if (train.min_lr > train.lr) {
    return {both(input, "min-lr", "lr"), "the lowest learning rate is above the highest"};
  }
  const int decay = train.lr_decay_iters.value_or(train.train_iters);
  if (train.train_iters == 0 || train.lr_warmup_iters <= decay) return {};
  return {both(input, "lr-warmup-iters", train.lr_decay_iters ? "lr-decay-iters" : "train-iters"),
          "warm-up must end before the decay does: at most " + std::to_string(decay)};
}

RuleBreak nccl_needs_cuda(const RuleInput& input) {
  const LaunchConfig& launch = input.config.launch;
  if (launch.communicator != "nccl" || launch.device == "cuda") return {};
  return {both(input, "communicator", "device"),
          "NCCL is for GPUs: add --device cuda, or use gloo"};
}

RuleBreak save_interval_needs_save(const RuleInput& input) {
  const TrainConfig& train = input.config.train;
  if (train.save_interval == 0 || !train.save.empty()) return {};
  return {input.request.found("save-interval"), "say where to save: add --save"};
}

RuleBreak data_needs(const RuleInput& input) {
  const DataConfig& data = input.config.data;
  if (data.command.empty()) return {"weft data", "say what to do: `weft data prepare`"};
  if (data.input.empty()) return {"--input not given", "say which text to prepare"};
  if (data.output_prefix.empty()) return {"--output-prefix not given", "say where to write"};
  return {};
}

RuleBreak sample_needs(const RuleInput& input) {
  if (input.config.train.load.empty()) return {"--load not given", "say which model to sample"};
  if (!input.request.given("prompt")) return {"--prompt not given", "say what to continue"};
  return {};
}

std::vector<std::string> formats_of(Verb verb) {
  if (verb == Verb::Schedule) return {"text", "csv", "json", "svg", "html"};
  if (verb == Verb::Simulate || verb == Verb::Report) return {"text", "json", "html"};
  return {"text", "json"};
}

RuleBreak format_of_verb(const RuleInput& input) {
  const std::string& format = input.config.output.format;
  const std::vector<std::string> formats = formats_of(input.request.verb);
  if (format.empty() || std::ranges::find(formats, format) != formats.end()) return {};
  return {input.request.found("format"),
          "`weft " + std::string(info_of(input.request.verb).name) + "` has " + join(formats)};
}

RuleBreak report_needs(const RuleInput& input) {
  const TrainConfig& files = input.config.train;
  if (files.metrics.empty() && files.timeline.empty()) {
    return {"--metrics and --timeline not given",
            "give what `weft train` wrote: --metrics FILE.jsonl, --timeline FILE.json, or both"};
  }
  if (!files.timeline.empty()) return {};
  const char* flag = !input.config.report.predicted.empty() ? "predicted" : "costs";
  if (!input.request.given(flag)) return {};
  return {input.request.found(flag), "it needs --timeline FILE.json as `weft train` wrote it"};
}

RuleBreak events_need_json(const RuleInput& input) {
  if (!input.config.output.events || input.config.output.format != "text") return {};
  return {both(input, "events", "format"), "events are listed in JSON: use --format json"};
}

RuleBreak one_cost_model(const RuleInput& input) {
  if (input.config.train.costs.empty()) return {};
  for (const char* flag : {"cost-forward", "cost-dgrad", "cost-wgrad", "cost-pair", "cost-p2p"}) {
    if (!input.request.given(flag)) continue;
    return {both(input, "costs", flag),
            "the file gives all costs: leave --" + std::string(flag) + " out, or --costs"};
  }
  return {};
}

constexpr auto kBatch =
    "num-microbatches global-batch-size micro-batch-size data-parallel-size local-ranks "
    "pipeline-model-parallel-size expert-model-parallel-size";
constexpr auto kHeads = "hidden-size num-attention-heads kv-channels num-query-groups";
constexpr auto kExperts = "num-experts expert-model-parallel-size moe-router-topk";
constexpr auto kRanks =
    "local-ranks ranks data-parallel-size pipeline-model-parallel-size expert-model-parallel-size";

}  // namespace

std::vector<Rule> size_rules() {
  return {
      {"micro-batches-known", "batch", kOwn, "", kBatch, micro_batches_known, kBuildsPlan},
      {"batch-divides", "batch", kOwn, "", kBatch, batch_divides},
      {"batch-agrees", "batch", kOwn, "", kBatch, batch_agrees},
      {"heads-divide-hidden", "model", kOwn, "", kHeads, heads_divide_hidden},
      {"head-size-even", "model", kOwn, "", kHeads, head_size_even},
      {"groups-divide-heads", "model", kOwn, "", kHeads, groups_divide_heads},
      {"experts-divide", "experts", kOwn, "", kExperts, experts_divide},
      {"expert-ranks-need-experts", "experts", kOwn, "", kExperts, expert_ranks_need_experts,
       kTrainAlone},
      {"expert-ranks-divide-data", "experts", kOwn, "", kRanks, expert_ranks_divide_data},
      {"topk-within-experts", "experts", kOwn, "", kExperts, topk_within_experts},
      {"noop-layers-exist", "model", kOwn, "", "noop-layers num-layers", noop_layers_exist},
      {"ranks-fit-sizes", "ranks", kOwn, "", kRanks, ranks_fit_sizes},
      {"train-needs-sizes", "model", kOwn, "", "load token-file", train_needs_sizes, kTrainAlone},
      {"plan-needs-sizes", "model", kOwn, "", "model token-file", plan_needs_sizes, kPlanAlone},
      {"search-needs-ranks", "ranks", kOwn, "", "ranks search", search_needs_ranks, kPlanAlone},
      {"search-tries-built-in", "schedule", kOwn, "", "schedules-method search",
       search_tries_built_in, kPlanAlone},
      {"train-needs-iters", "training", kOwn, "", "train-iters", train_needs_iters, kTrainAlone},
      {"train-needs-data", "training", kOwn, "", "data-path token-file", train_needs_data,
       kTrainAlone},
      {"learning-rate-order", "training", kOwn, "",
       "lr min-lr lr-warmup-iters lr-decay-iters train-iters", learning_rate_order, kTrainAlone},
      {"nccl-needs-cuda", "ranks", kOwn, "", "communicator device", nccl_needs_cuda},
      {"save-interval-needs-save", "training", kOwn, "", "save save-interval",
       save_interval_needs_save, kTrainAlone},
      {"data-needs", "data", kOwn, "", "data-command input output-prefix", data_needs,
       verbs(Verb::Data)},
      {"sample-needs", "sampling", kOwn, "", "load prompt", sample_needs, verbs(Verb::Sample)},
      {"report-needs", "report", kOwn, "", "metrics timeline predicted costs", report_needs,
       verbs(Verb::Report)},
      {"format-of-verb", "output", kOwn, "", "format", format_of_verb},
      {"events-need-json", "output", kOwn, "", "events format", events_need_json},
      {"one-cost-model", "costs", kOwn, "", "costs", one_cost_model},
  };
}

}  // namespace weft
