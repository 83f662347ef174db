#include "train/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/random.h"
#include "train/tokenizer.h"

namespace weft {
namespace {

void check(const std::vector<std::int64_t>& prompt, const SampleOptions& options) {
  std::vector<Violation> violations;
  if (prompt.empty()) {
    violations.push_back({"sample-prompt", "--prompt", "at least one byte is needed"});
  }
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    violations.push_back({"sample-temperature",
                          "--temperature " + std::to_string(options.temperature), "at least 0"});
  }
  if (options.top_k < 0) {
    violations.push_back({"sample-top-k", "--top-k " + std::to_string(options.top_k),
                          "at least 1, or 0 for all tokens"});
  }
  if (options.max_new_tokens < 0) {
    violations.push_back({"sample-length",
                          "--max-new-tokens " + std::to_string(options.max_new_tokens),
                          "at least 0"});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
}

}  // namespace

std::int64_t choose_token(const std::vector<float>& logits, const SampleOptions& options,
                          double unit) {
  weft_assert(!logits.empty(), "logits of at least one token");
  // Without an order of numbers there is no likeliest token.
  if (!std::all_of(logits.begin(), logits.end(),
                   [](float logit) { return std::isfinite(logit); })) {
    throw RuntimeFault("the model's logits are not finite: its weights are damaged or diverged");
  }
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (options.temperature == 0) return static_cast<std::int64_t>(order[0]);
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(options.top_k));
  }
  std::vector<double> weights;
  for (const std::size_t token : order) {
    weights.push_back(
        std::exp((double{logits[token]} - double{logits[order[0]]}) / options.temperature));
  }
  double left = unit * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<std::int64_t>(order[i]);
  }
  return static_cast<std::int64_t>(order.back());
}

std::vector<std::int64_t> sample(const LogitsFunction& logits,
                                 const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options) {
  check(prompt, options);
  std::vector<std::int64_t> tokens = prompt;
  for (int i = 0; i < options.max_new_tokens; ++i) {
    std::vector<std::int64_t> context = tokens;
    const auto limit = static_cast<std::size_t>(options.context_length);
    if (limit > 0 && context.size() > limit) {
      context.erase(context.begin(), context.end() - options.context_length);
    }
    const std::uint64_t bits =
        random_bits(static_cast<std::uint64_t>(options.seed), 1, static_cast<std::uint64_t>(i));
    tokens.push_back(choose_token(logits(context), options, random_unit(bits)));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()), tokens.end()};
}

std::string sample_text(const LogitsFunction& logits, const std::string& prompt,
                        const SampleOptions& options) {
  return decode_bytes(sample(logits, encode_bytes(prompt), options));
}

void require_prompt_tokens(const std::string& prompt, std::int64_t vocab_size) {
  const std::vector<std::int64_t> tokens = encode_bytes(prompt);
  const auto outside = std::find_if(tokens.begin(), tokens.end(),
                                    [&](std::int64_t token) { return token >= vocab_size; });
  if (outside == tokens.end()) return;
  const std::int64_t place = outside - tokens.begin();
  throw UserError(Violation{"sample-prompt", "--prompt " + printable(prompt),
                            "byte " + std::to_string(place) + " is token " +
                                std::to_string(*outside) + "; the model has tokens 0 to " +
                                std::to_string(vocab_size - 1)});
}

}  // namespace weft
