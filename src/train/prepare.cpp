#include "train/prepare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/error.h"
#include "train/files.h"
#include "train/indexed_dataset.h"
#include "train/tokenizer.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// -sum of c/n ln(c/n), times n.
double entropy_sum(const std::int64_t* counts, std::int64_t size) {
  const std::int64_t total = std::accumulate(counts, counts + size, std::int64_t{0});
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (counts[i] == 0) continue;
    const auto count = static_cast<double>(counts[i]);
    sum -= count * std::log(count / static_cast<double>(total));
  }
  return sum;
}

double per_item(double sum, std::int64_t items) {
  return items == 0 ? 0.0 : sum / static_cast<double>(items);
}

void find_files(const fs::path& directory, const PrepareOptions& options,
                std::set<std::string>& files) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (entry->is_directory() && entry->path().filename() == options.exclude) {
      entry.disable_recursion_pending();
    } else if (!entry->is_symlink() && entry->is_regular_file() && path.ends_with(options.suffix)) {
      files.insert(path);
    }
  }
  if (error) {
    throw UserError(Violation{"data-input", "--input " + directory.string(),
                              "cannot be read: " + error.message()});
  }
}

std::set<std::string> list_files(const PrepareOptions& options) {
  std::set<std::string> files;
  std::vector<Violation> violations;
  for (const std::string& input : options.inputs) {
    if (fs::is_directory(input)) {
      find_files(input, options, files);
    } else if (fs::is_regular_file(input)) {
      files.insert(input);
    } else {
      violations.push_back({"data-input", "--input " + input, "is no file and no directory"});
    }
  }
  if (violations.empty() && files.empty()) {
    violations.push_back(
        {"data-input", "--input",
         "holds no file" +
             (options.suffix.empty() ? std::string() : " that ends in " + options.suffix)});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
  return files;
}

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string format(const char* pattern, double value) {
  char text[128];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

ByteCounts::ByteCounts() : bytes_(256), pairs_(256 * 256) {}

void ByteCounts::add_document(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    ++bytes_[byte];
    if (i > 0) ++pairs_[256 * std::size_t{static_cast<unsigned char>(text[i - 1])} + byte];
  }
}

double ByteCounts::unigram_entropy_nats() const {
  const auto total = std::accumulate(bytes_.begin(), bytes_.end(), std::int64_t{0});
  return per_item(entropy_sum(bytes_.data(), 256), total);
}

double ByteCounts::bigram_entropy_nats() const {
  const auto total = std::accumulate(pairs_.begin(), pairs_.end(), std::int64_t{0});
  double sum = 0;
  for (int a = 0; a < 256; ++a) sum += entropy_sum(pairs_.data() + 256 * a, 256);
  return per_item(sum, total);
}

PrepareStatistics prepare(const PrepareOptions& options) {
  if (options.tokenizer != "bytes") {
    throw UserError(Violation{"tokenizer", "--tokenizer " + options.tokenizer,
                              "the tokenizer that is built is: bytes"});
  }
  if (options.output_prefix.empty()) {
    throw UserError(Violation{"output-prefix", "--output-prefix", "names the two files to write"});
  }
  const std::set<std::string> files = list_files(options);
  const fs::path directory = fs::path(options.output_prefix).parent_path();
  std::error_code error;
  if (!directory.empty()) fs::create_directories(directory, error);
  if (error) {
    throw UserError(Violation{"output-prefix", "--output-prefix " + options.output_prefix,
                              "its directory cannot be made: " + error.message()});
  }

  PrepareStatistics statistics;
  statistics.vocabulary = kByteVocabulary + (options.append_eod ? 1 : 0);
  IndexedDatasetWriter writer(options.output_prefix,
                              options.append_eod ? TokenType::UInt16 : TokenType::UInt8);
  ByteCounts counts;
  for (const std::string& path : files) {
    const std::string text = read_text(path);
    if (text.empty()) {
      ++statistics.skipped_empty;
      continue;
    }
    counts.add_document(text);
    std::vector<std::int64_t> tokens = encode_bytes(text);
    if (options.append_eod) tokens.push_back(kEndOfDocument);
    writer.add_document(tokens);
    ++statistics.documents;
    statistics.bytes += static_cast<std::int64_t>(text.size());
    statistics.tokens += static_cast<std::int64_t>(tokens.size());
  }
  if (statistics.documents == 0) {
    throw UserError(Violation{"data-input", "--input", "every file is empty"});
  }
  writer.commit();
  statistics.unigram_entropy_nats = counts.unigram_entropy_nats();
  statistics.bigram_entropy_nats = counts.bigram_entropy_nats();
  return statistics;
}

std::string describe(const PrepareStatistics& statistics) {
  std::string text = "documents   " + std::to_string(statistics.documents);
  if (statistics.skipped_empty > 0) {
    text += " (" + std::to_string(statistics.skipped_empty) + " empty files skipped)";
  }
  text += "\ntokens      " + std::to_string(statistics.tokens);
  text += "\nvocabulary  " + std::to_string(statistics.vocabulary);
  text += format("\nentropy of a byte                         %.4f nats",
                 statistics.unigram_entropy_nats);
  text += format("\nentropy of a byte given the one before    %.4f nats\n",
                 statistics.bigram_entropy_nats);
  return text;
}

}  // namespace weft
