#include "config/aliases.h"

#include <cmath>

#include "base/numbers.h"
#include "config/flag.h"

namespace weft {
namespace {

// The text for the other flag; empty if `text` is no value of this one.
using Translate = std::string (*)(const std::string& text, const Config& config);

struct Alias {
  std::string_view flag;
  std::string_view other;
  Translate translate;
  bool beats = false;  // the other flag where both are given
};

std::string as_it_is(const std::string& text, const Config& /*config*/) { return text; }

std::string bf16(const std::string& /*text*/, const Config& /*config*/) { return "bf16"; }

std::string times(const std::string& text, int factor) {
  const std::optional<std::int64_t> number = parse_int64(text);
  constexpr std::int64_t kMost = 1'000'000'000;
  if (!number.has_value() || *number < 0 || *number > kMost) return "";
  return std::to_string(*number * factor);
}

std::string minutes(const std::string& text, const Config& /*config*/) { return times(text, 60); }

std::string shared_experts(const std::string& text, const Config& config) {
  const ModelConfig& model = config.model;
  return times(text,
               model.moe_ffn_hidden_size != 0 ? model.moe_ffn_hidden_size : model.ffn_hidden_size);
}

std::string warmup_fraction(const std::string& text, const Config& config) {
  const std::optional<double> fraction = parse_double(text);
  if (!fraction.has_value() || !(*fraction >= 0) || *fraction > 1) return "";
  const int steps = config.train.lr_decay_iters.value_or(config.train.train_iters);
  return std::to_string(static_cast<int>(std::floor(*fraction * steps)));
}

constexpr Alias kAliases[] = {
    {"bf16", "params-dtype", bf16},
    {"padded-vocab-size", "vocab-size", as_it_is, true},
    {"moe-intermediate-size", "moe-ffn-hidden-size", as_it_is},
    {"n-shared-experts", "moe-shared-expert-intermediate-size", shared_experts},
    {"distributed-timeout-minutes", "distributed-timeout-seconds", minutes},
    {"lr-warmup-fraction", "lr-warmup-iters", warmup_fraction},
};

// What is wrong; nothing: the other flag is set.
std::optional<Violation> apply_alias(const Alias& alias, Request& request) {
  Source source = request.sources.find(alias.flag)->second;
  const std::string found = request.found(alias.flag);
  if (is_switch(*find_flag(alias.flag)) && !is_on(source.text)) return std::nullopt;
  const std::string text = alias.translate(source.text, request.config);
  if (text.empty()) return Violation{"flag-value", found, "a number of at least 0 is allowed"};
  const auto given = request.sources.find(alias.other);
  if (given != request.sources.end() && given->second.text != text && !alias.beats) {
    return Violation{"flags-agree", found + " and " + request.found(alias.other),
                     "--" + std::string(alias.flag) + " says --" + std::string(alias.other) + " " +
                         text + ": give one of them"};
  }
  if (auto violation = set_flag(*find_flag(alias.other), text, found, request.config)) {
    return violation;
  }
  source.place = found + ", that is --" + std::string(alias.other);
  source.text = text;
  request.sources.insert_or_assign(std::string(alias.other), std::move(source));
  return std::nullopt;
}

}  // namespace

void apply_aliases(Request& request, std::vector<Violation>& violations) {
  for (const Alias& alias : kAliases) {
    if (!request.given(alias.flag) || request.broken.contains(alias.flag)) continue;
    if (request.broken.contains(alias.other)) continue;
    if (auto violation = apply_alias(alias, request)) {
      violations.push_back(std::move(*violation));
      request.broken.insert(std::string(alias.flag));
    }
  }
}

}  // namespace weft
