// Rules on flags that launch scripts bring along: what they ask for beside other flags.
#include "base/numbers.h"
#include "config/flag.h"
#include "config/rules.h"

namespace weft {
namespace {

bool switched_on(const RuleInput& input, std::string_view flag) {
  const auto at = input.request.sources.find(flag);
  return at != input.request.sources.end() && is_on(at->second.text);
}

// Megatron pads the vocabulary to a multiple of this times the tensor parallel size.
RuleBreak vocabulary_padding(const RuleInput& input) {
  const auto given = input.request.sources.find("make-vocab-size-divisible-by");
  if (given == input.request.sources.end() || input.request.given("padded-vocab-size")) return {};
  const std::optional<std::int64_t> multiple = parse_int64(given->second.text);
  const std::int64_t vocabulary = input.config.model.vocab_size;
  if (!multiple.has_value() || *multiple < 1 || vocabulary % *multiple == 0) return {};
  const std::int64_t padded = (vocabulary / *multiple + 1) * *multiple;
  return {input.request.found(given->first) + " and " + input.request.found("vocab-size"),
          "Megatron pads this vocabulary to " + std::to_string(padded) +
              ", Weft takes it as it is: add --padded-vocab-size " + std::to_string(padded) +
              " for a model of that size, or leave the flag out"};
}

RuleBreak normed_top_k(const RuleInput& input) {
  if (!switched_on(input, "norm-topk-prob") || !input.config.model.moe_router_pre_softmax) {
    return {};
  }
  return {input.request.found("norm-topk-prob") + " and " +
              input.request.found("moe-router-pre-softmax"),
          "weights of the chosen experts sum to 1 unless --moe-router-pre-softmax is given: leave "
          "one of them out"};
}

RuleBreak load_is_whole(const RuleInput& input) {
  if (input.config.train.load.empty()) return {};
  for (const char* flag : {"no-load-optim", "finetune"}) {
    if (!switched_on(input, flag)) continue;
    return {input.request.found(flag) + " with " + input.request.found("load"),
            "a checkpoint is loaded with the optimizer's state and the step it is at: leave --" +
                std::string(flag) + " out"};
  }
  return {};
}

}  // namespace

std::vector<Rule> script_rules() {
  return {
      {"vocabulary-padding", "model", kOwn, "",
       "make-vocab-size-divisible-by vocab-size padded-vocab-size", vocabulary_padding},
      {"normed-top-k", "experts", kOwn, "", "norm-topk-prob moe-router-pre-softmax", normed_top_k},
      {"load-is-whole", "training", kOwn, "", "no-load-optim finetune load", load_is_whole},
  };
}

}  // namespace weft
