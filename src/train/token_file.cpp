#include <ATen/Functions.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "train/dataset.h"
#include "train/safetensors.h"

namespace weft {
namespace {

constexpr std::int64_t kNotCounted = -100;

[[noreturn]] void refuse(const std::string& found, const std::string& why) {
  throw UserError(Violation{"token-file", "--token-file " + found, why});
}

class TokenFileRows : public Rows {
 public:
  TokenFileRows(const std::string& path, std::int64_t vocabulary, std::int64_t sequence_length)
      : file_(path) {
    tokens_ = read(path, "tokens");
    check_range(path, "tokens", tokens_, vocabulary, false);
    if (sequence_length > 0 && tokens_.size(1) != sequence_length) {
      refuse(path + ": tokens has " + std::to_string(tokens_.size(1)) + " columns",
             "--seq-length is " + std::to_string(sequence_length));
    }
    if (file_.contains("labels")) {
      labels_ = read(path, "labels");
      if (labels_.sizes() != tokens_.sizes()) {
        refuse(path + ": labels and tokens differ in shape", "both are [B, S]");
      }
      check_range(path, "labels", labels_, vocabulary, true);
    }
    check_any_label(path);
  }

  std::int64_t sequence_length() const override { return tokens_.size(1); }
  std::int64_t rows_per_epoch() const override { return tokens_.size(0); }

  void read(std::int64_t row, std::int64_t* tokens, std::int64_t* labels) const override {
    const std::int64_t length = sequence_length();
    const std::int64_t* from = row_of(tokens_, row);
    std::copy(from, from + length, tokens);
    if (labels_.defined()) {
      const std::int64_t* label = row_of(labels_, row);
      std::copy(label, label + length, labels);
    } else {
      std::copy(from + 1, from + length, labels);
      labels[length - 1] = kNotCounted;
    }
  }

  std::int64_t count_valid_labels(std::int64_t row) const override {
    const std::int64_t length = sequence_length();
    if (!labels_.defined()) return length - 1;
    const std::int64_t* label = row_of(labels_, row);
    return length - std::count(label, label + length, kNotCounted);
  }

 private:
  at::Tensor read(const std::string& path, const char* name) const {
    at::Tensor tensor = file_.tensor(name);
    if (tensor.scalar_type() != at::kLong || tensor.dim() != 2 || tensor.numel() == 0) {
      std::ostringstream found;
      found << path << ": " << name << " is " << tensor.scalar_type() << " " << tensor.sizes();
      refuse(found.str(), "[B, S] int64 with B and S at least 1");
    }
    return tensor;
  }

  static void check_range(const std::string& path, const char* name, const at::Tensor& tensor,
                          std::int64_t vocabulary, bool may_be_uncounted) {
    const auto* values = tensor.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      const std::int64_t value = values[i];
      if (may_be_uncounted && value == kNotCounted) continue;
      if (value >= 0 && (vocabulary == 0 || value < vocabulary)) continue;
      refuse(path + ": " + name + "[" + std::to_string(i / tensor.size(1)) + ", " +
                 std::to_string(i % tensor.size(1)) + "] = " + std::to_string(value),
             (vocabulary == 0 ? std::string("not negative")
                              : "in [0, " + std::to_string(vocabulary) + "), see --vocab-size") +
                 (may_be_uncounted ? ", or -100 for one that is not counted" : ""));
    }
  }

  void check_any_label(const std::string& path) const {
    for (std::int64_t row = 0; row < rows_per_epoch(); ++row) {
      if (count_valid_labels(row) > 0) return;
    }
    refuse(path + ": no label is counted",
           labels_.defined() ? "at least one label that is not -100"
                             : "at least 2 tokens a row: the target is the next one");
  }

  const std::int64_t* row_of(const at::Tensor& tensor, std::int64_t row) const {
    return tensor.const_data_ptr<std::int64_t>() + row % tensor.size(0) * tensor.size(1);
  }

  SafetensorsFile file_;
  at::Tensor tokens_;
  at::Tensor labels_;  // undefined: the next token
};

}  // namespace

std::unique_ptr<Rows> open_token_file(const std::string& path, std::int64_t vocabulary,
                                      std::int64_t sequence_length) {
  return std::make_unique<TokenFileRows>(path, vocabulary, sequence_length);
}

}  // namespace weft
