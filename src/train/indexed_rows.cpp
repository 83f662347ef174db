#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/error.h"
#include "train/dataset.h"
#include "train/indexed_dataset.h"
#include "train/random.h"

namespace weft {
namespace {

const char* part_name(SplitPart part) {
  switch (part) {
    case SplitPart::Train:
      return "train";
    case SplitPart::Validation:
      return "validation";
    case SplitPart::Test:
      return "test";
  }
  throw InternalError("unknown part of a split");
}

[[noreturn]] void refuse_split(const std::string& split) {
  throw UserError(Violation{"data-split", "--split " + split,
                            "one to three numbers joined by commas, not negative, not all zero: "
                            "shares of train, validation and test, such as 969,30,1"});
}

std::array<double, 3> parse_split(const std::string& split) {
  std::array<double, 3> shares{};
  const char* at = split.c_str();
  std::size_t num = 0;
  while (true) {
    char* end = nullptr;
    const double share = std::strtod(at, &end);
    if (end == at || num == shares.size() || !(share >= 0) || !std::isfinite(share)) {
      refuse_split(split);
    }
    shares[num++] = share;
    if (*end == '\0') break;
    if (*end != ',') refuse_split(split);
    at = end + 1;
  }
  const double sum = shares[0] + shares[1] + shares[2];
  if (!(sum > 0) || !std::isfinite(sum)) refuse_split(split);
  for (double& share : shares) share /= sum;
  return shares;
}

struct DocumentRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Rounds half to even, as Python does.
DocumentRange documents_of(const std::string& split, SplitPart part, std::int64_t num_documents) {
  const std::array<double, 3> shares = parse_split(split);
  double begin = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(part); ++i) begin += shares[i];
  const double end = part == SplitPart::Test ? 1.0 : begin + shares[static_cast<std::size_t>(part)];
  const auto count = static_cast<double>(num_documents);
  const auto round = [&](double share) {
    return std::clamp(static_cast<std::int64_t>(std::nearbyint(share * count)), std::int64_t{0},
                      num_documents);
  };
  return {round(begin), round(end)};
}

class IndexedRows : public Rows {
 public:
  explicit IndexedRows(const IndexedRowsOptions& options)
      : options_(options), dataset_(options.prefix) {
    const std::int64_t num_documents = dataset_.num_documents();
    const DocumentRange range = documents_of(options.split, options.part, num_documents);
    first_sequence_ = dataset_.document_start(range.first);
    const std::int64_t end = dataset_.document_start(range.last);
    ends_.reserve(static_cast<std::size_t>(end - first_sequence_));
    std::int64_t num_tokens = 0;
    for (std::int64_t i = first_sequence_; i < end; ++i) {
      num_tokens += dataset_.sequence_length(i);
      ends_.push_back(num_tokens);
    }
    num_samples_ = (num_tokens - 1) / options.sequence_length;
    if (num_tokens <= options.sequence_length) {
      throw UserError(Violation{
          "data-too-small",
          "--data-path " + options.prefix + ", --split " + options.split + ": the " +
              part_name(options.part) + " part has " + std::to_string(range.last - range.first) +
              " of " + std::to_string(num_documents) + " documents, " + std::to_string(num_tokens) +
              " tokens",
          "one sample takes " + std::to_string(options.sequence_length + 1) +
              " tokens; give more text, a larger share or a smaller --seq-length"});
    }
  }

  std::int64_t sequence_length() const override { return options_.sequence_length; }
  std::int64_t rows_per_epoch() const override { return num_samples_; }

  void read(std::int64_t row, std::int64_t* tokens, std::int64_t* labels) const override {
    const std::int64_t length = options_.sequence_length;
    std::vector<std::int64_t> sample(static_cast<std::size_t>(length) + 1);
    read_tokens(sample_of(row) * length, sample);
    std::copy(sample.begin(), sample.end() - 1, tokens);
    std::copy(sample.begin() + 1, sample.end(), labels);
  }

  std::int64_t count_valid_labels(std::int64_t) const override { return options_.sequence_length; }

 private:
  std::int64_t sample_of(std::int64_t row) const {
    const auto size = static_cast<std::uint64_t>(num_samples_);
    const std::uint64_t epoch = static_cast<std::uint64_t>(row) / size;
    const std::uint64_t index = static_cast<std::uint64_t>(row) % size;
    if (!options_.shuffle) return static_cast<std::int64_t>(index);
    const std::uint64_t key = random_bits(static_cast<std::uint64_t>(options_.seed), 0, epoch);
    return static_cast<std::int64_t>(permute(key, size, index));
  }

  // Tokens from `position` of the part on, over as many sequences as it takes.
  void read_tokens(std::int64_t position, std::span<std::int64_t> out) const {
    auto sequence = std::upper_bound(ends_.begin(), ends_.end(), position) - ends_.begin();
    while (!out.empty()) {
      const std::int64_t start = sequence == 0 ? 0 : ends_[static_cast<std::size_t>(sequence) - 1];
      const std::int64_t left = ends_[static_cast<std::size_t>(sequence)] - position;
      const auto piece = out.first(std::min(out.size(), static_cast<std::size_t>(left)));
      dataset_.read(first_sequence_ + sequence, position - start, piece);
      check_vocabulary(first_sequence_ + sequence, position - start, piece);
      out = out.subspan(piece.size());
      position += static_cast<std::int64_t>(piece.size());
      ++sequence;
    }
  }

  void check_vocabulary(std::int64_t sequence, std::int64_t first,
                        std::span<const std::int64_t> tokens) const {
    for (const std::int64_t& token : tokens) {
      if (token >= 0 && token < options_.vocabulary) continue;
      const std::int64_t index = first + (&token - tokens.data());
      throw UserError(Violation{
          "token-outside-vocabulary",
          dataset_.prefix() + ".bin: token " + std::to_string(token) + " at byte " +
              std::to_string(dataset_.offset_bytes(sequence, index)) + " (sequence " +
              std::to_string(sequence) + ", token " + std::to_string(index) + ")",
          "tokens are in [0, " + std::to_string(options_.vocabulary) + "), see --vocab-size"});
    }
  }

  IndexedRowsOptions options_;
  IndexedDataset dataset_;
  std::int64_t first_sequence_ = 0;
  std::vector<std::int64_t> ends_;  // running sum of the lengths of the part's sequences
  std::int64_t num_samples_ = 0;
};

}  // namespace

std::unique_ptr<Rows> open_indexed_rows(const IndexedRowsOptions& options) {
  if (options.sequence_length < 1) {
    throw UserError(Violation{
        "seq-length", "--seq-length " + std::to_string(options.sequence_length), "at least 1"});
  }
  return std::make_unique<IndexedRows>(options);
}

}  // namespace weft
