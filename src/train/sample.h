// Continues a prompt, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

struct SampleOptions {
  int max_new_tokens = 200;
  double temperature = 1.0;  // 0: always the likeliest token
  int top_k = 0;             // 0: all
  std::int64_t seed = 1234;
  int context_length = 0;  // the last so many tokens are given to the model; 0: all
};

// Logits [V] of the token after `tokens`, which has at least one.
using LogitsFunction = std::function<std::vector<float>(const std::vector<std::int64_t>& tokens)>;

// Index drawn from softmax(logits / temperature) over the top_k largest; `unit` in [0, 1) decides.
// Of equal logits the lower index comes first. Throws RuntimeFault if one is not finite.
std::int64_t choose_token(const std::vector<float>& logits, const SampleOptions& options,
                          double unit);

// The new tokens, fixed by the seed. Errors: UserError for an empty prompt or options out of range.
std::vector<std::int64_t> sample(const LogitsFunction& logits,
                                 const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options);

// The same on text by the bytes tokenizer; the continuation alone, its bytes as they are, a token
// that is no byte as <256>.
std::string sample_text(const LogitsFunction& logits, const std::string& prompt,
                        const SampleOptions& options);

// Throws UserError for a prompt with a byte that is no token of the vocabulary.
void require_prompt_tokens(const std::string& prompt, std::int64_t vocab_size);

}  // namespace weft
