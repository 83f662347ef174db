// Models for the tests of what a run takes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/derive.h"
#include "config/model_source.h"
#include "config/rules.h"
#include "layout/layout_string.h"
#include "layout/make_layout.h"

namespace weft::testing {

inline RunFacts facts_of(const Request& request) {
  const std::string& text = request.config.schedule.pipeline_model_parallel_layout;
  if (text.empty()) return {};
  return {.layout_stages = static_cast<int>(parse_layout_string(text).size())};
}

// The request of `weft plan WORDS`, which has to pass the rules.
inline Request plan_request(const std::vector<std::string>& words) {
  std::vector<Violation> violations;
  Request request = read_request(Verb::Plan, words, {}, violations);
  take_model(request, violations);
  const std::vector<Violation> broken = check(request, facts_of(request));
  violations.insert(violations.end(), broken.begin(), broken.end());
  for (const Violation& violation : violations) {
    ADD_FAILURE() << violation.rule << ": " << violation.found << ": " << violation.message;
  }
  return request;
}

inline Config plan_config(const std::vector<std::string>& words) {
  const Request request = plan_request(words);
  return resolved(request.config, facts_of(request));
}

// All layers on `num_ranks` stages.
inline Layout layout_over(const Config& config, int num_ranks) {
  return make_layout(config, StageMap{.num_ranks = num_ranks});
}

// H 8, 2 heads of 4 with 1 for keys and values, feed-forward 6, S 4, V 10; everything dense.
inline Config dense_config(int num_layers) {
  Config config;
  config.model.num_layers = num_layers;
  config.model.hidden_size = 8;
  config.model.num_attention_heads = 2;
  config.model.num_query_groups = 1;
  config.model.ffn_hidden_size = 6;
  config.model.seq_length = 4;
  config.model.vocab_size = 10;
  return config;
}

// As above with 4 experts of width 3, top-2.
inline Config moe_config(int num_layers) {
  Config config = dense_config(num_layers);
  config.model.num_experts = 4;
  config.model.moe_router_topk = 2;
  config.model.moe_ffn_hidden_size = 3;
  return config;
}

}  // namespace weft::testing
