#include "layout/layer_kinds.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/names.h"
#include "base/numbers.h"

namespace weft {
namespace {

constexpr std::size_t kMaxPattern = 100'000;
constexpr int kMaxDepth = 16;

std::string without_blanks(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char c) { return c != ' ' && c != '\t'; });
  return kept;
}

std::string layers_text(int num_layers) {
  return counted(num_layers, "decoder layer") + " (--num-layers; without it one a stage)";
}

// Lists as Megatron's scripts write them:
//   sum      product ('+' product)*
//   product  value ('*' N)*
//   value    '[' 0 or 1, ... ']' or '(' sum ')'
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  // Empty if the text is no such list or is too long when written out.
  std::optional<std::vector<int>> read() {
    auto pattern = read_sum(0);
    return pattern && text_.empty() ? pattern : std::nullopt;
  }

 private:
  using List = std::optional<std::vector<int>>;

  bool skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  List read_sum(int depth) {
    List sum = read_product(depth);
    while (sum && skip('+')) {
      const List next = read_product(depth);
      if (!next || sum->size() + next->size() > kMaxPattern) return std::nullopt;
      sum->insert(sum->end(), next->begin(), next->end());
    }
    return sum;
  }

  List read_product(int depth) {
    List product = read_value(depth);
    while (product && skip('*')) {
      const auto count = read_number();
      if (!count || product->size() * *count > kMaxPattern) return std::nullopt;
      std::vector<int> repeated;
      for (std::size_t i = 0; i < *count; ++i) {
        repeated.insert(repeated.end(), product->begin(), product->end());
      }
      product = std::move(repeated);
    }
    return product;
  }

  List read_value(int depth) {
    if (skip('(')) {
      if (depth == kMaxDepth) return std::nullopt;
      List inner = read_sum(depth + 1);
      return skip(')') ? inner : std::nullopt;
    }
    if (!skip('[')) return std::nullopt;
    std::vector<int> list;
    do {
      if (skip('0')) {
        list.push_back(0);
      } else if (skip('1')) {
        list.push_back(1);
      } else {
        return std::nullopt;
      }
    } while (skip(','));
    return skip(']') ? List(list) : std::nullopt;
  }

  std::optional<std::size_t> read_number() {
    const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
    const auto number = parse_int64(text_.substr(0, digits));
    if (digits == 0 || !number) return std::nullopt;
    text_.remove_prefix(digits);
    return std::min(static_cast<std::size_t>(*number), kMaxPattern + 1);
  }

  std::string_view text_;
};

// [num_layers] of 0 and 1.
std::vector<int> moe_pattern(const std::string& freq, int num_layers,
                             std::vector<Violation>& violations) {
  std::vector<int> all(num_layers, 1);
  const std::string text = without_blanks(freq);
  if (text.empty()) return all;
  const std::string found = "--moe-layer-freq " + freq;
  if (const auto every = parse_int64(text)) {
    if (*every < 1) {
      violations.push_back({"moe-layer-freq", found, "as a number it has to be 1 or more"});
      return all;
    }
    for (int i = 0; i < num_layers; ++i) all[i] = i % *every == 0;
    return all;
  }
  const auto pattern = PatternReader(text).read();
  if (!pattern) {
    violations.push_back({"moe-layer-freq", found,
                          "expected a number, or a list of 0 (dense) and 1 (MoE) like [0,1,1] or "
                          "([0]*1+[1]*3)*2"});
    return all;
  }
  if (static_cast<int>(pattern->size()) != num_layers) {
    violations.push_back(
        {"moe-layer-freq", found,
         "of " + layers_text(num_layers) + " the list names " + std::to_string(pattern->size())});
    return all;
  }
  return *pattern;
}

void apply_noop_layers(const std::string& noop_layers, std::vector<LayerKind>& kinds,
                       std::vector<Violation>& violations) {
  std::string_view rest = noop_layers;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string entry = without_blanks(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    const auto layer = parse_int64(entry);
    if (!layer || *layer < 0 || *layer >= static_cast<std::int64_t>(kinds.size())) {
      violations.push_back({"noop-layers", "--noop-layers " + noop_layers,
                            "`" + entry + "` is no layer; expected numbers from 0 to " +
                                std::to_string(kinds.size() - 1) + ", joined by commas"});
      return;
    }
    kinds[*layer] = LayerKind::Noop;
  }
}

}  // namespace

std::vector<LayerKind> make_layer_kinds(const ModelConfig& model, int num_layers,
                                        std::vector<Violation>& violations) {
  std::vector<LayerKind> kinds(num_layers, LayerKind::Dense);
  const auto pattern = moe_pattern(model.moe_layer_freq, num_layers, violations);
  if (model.num_experts > 0 && model.first_k_dense_replace > num_layers) {
    violations.push_back({"first-k-dense-replace",
                          "--first-k-dense-replace " + std::to_string(model.first_k_dense_replace),
                          "of " + layers_text(num_layers) + " at most all can be dense"});
  }
  if (model.num_experts > 0) {
    for (int i = 0; i < num_layers; ++i) {
      const bool moe = pattern[i] == 1 && i >= model.first_k_dense_replace;
      kinds[i] = moe ? LayerKind::Moe : LayerKind::Dense;
    }
  }
  apply_noop_layers(model.noop_layers, kinds, violations);
  return kinds;
}

}  // namespace weft
