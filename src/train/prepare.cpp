#include "train/prepare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/files_apart.h"
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

struct InputFiles {
  std::set<std::string> paths;
  std::int64_t skipped_links = 0;
};

// Empty, or why the directory cannot be read.
std::string find_files(const fs::path& directory, const PrepareOptions& options,
                       InputFiles& files) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    std::error_code ignored;  // what cannot be looked at is no regular file
    if (entry->is_symlink(ignored)) {
      ++files.skipped_links;
    } else if (entry->is_directory(ignored) && entry->path().filename() == options.exclude) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored) && path.ends_with(options.suffix)) {
      files.paths.insert(path);
    }
  }
  return error ? "cannot be read: " + error.message() : "";
}

InputFiles list_files(const PrepareOptions& options) {
  InputFiles files;
  std::vector<Violation> violations;
  for (const std::string& input : options.inputs) {
    std::error_code error;
    std::string why;
    if (const fs::file_status status = fs::status(input, error); fs::is_directory(status)) {
      why = find_files(input, options, files);
    } else if (fs::is_regular_file(status)) {
      files.paths.insert(input);
    } else {
      const bool is_unknown = error && status.type() != fs::file_type::not_found;
      why = is_unknown ? "cannot be read: " + error.message() : "is no file and no directory";
    }
    if (!why.empty()) violations.push_back({"data-input", "--input " + input, why});
  }
  if (violations.empty() && files.paths.empty()) {
    violations.push_back(
        {"data-input", "--input",
         "holds no file" +
             (options.suffix.empty() ? std::string() : " that ends in " + options.suffix)});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
  return files;
}

// Whether a file of this path is one that find_files() takes from `directory`.
bool is_taken_from(const fs::path& directory, const fs::path& path, const PrepareOptions& options) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(directory, error);
  const fs::path inside = fs::weakly_canonical(path, error).lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..") return false;
  const fs::path folders = inside.parent_path();
  const bool is_excluded =
      std::find(folders.begin(), folders.end(), options.exclude) != folders.end();
  return !is_excluded && path.string().ends_with(options.suffix);
}

// An output must be writable, and no text: not of this run, and in a folder not of the next.
void require_outputs(const PrepareOptions& options, const std::set<std::string>& inputs) {
  const std::string found = "--output-prefix " + options.output_prefix;
  const fs::path name = fs::path(options.output_prefix).filename();
  if (name.empty() || name == "." || name == "..") {
    throw UserError(Violation{"output-prefix", found,
                              "names a folder; add how the names of the two files begin"});
  }
  const fs::path folder = fs::path(options.output_prefix).parent_path();
  std::vector<NamedFile> read;
  for (const std::string& path : inputs) read.push_back({"--input", path});
  std::vector<Violation> violations;
  for (const char* end : {".bin", ".idx"}) {
    const std::string path = options.output_prefix + end;
    std::error_code error;
    const bool is_new = !folder.empty() && !fs::exists(folder, error);
    std::string why = is_new ? why_no_folder(folder) : why_not_writable(path);
    if (why.empty() && !outputs_apart(read, {{"--output-prefix", path}}).empty()) {
      why = "would overwrite what --input names; give another prefix";
    }
    for (const std::string& input : options.inputs) {
      if (!why.empty() || !fs::is_directory(input, error)) continue;
      if (!is_taken_from(input, path, options)) continue;
      why = "lies in --input " + input +
            ", so that the next run would read it as text; write it elsewhere, or say by --suffix "
            "which files are text";
    }
    if (!why.empty()) violations.push_back({"output-prefix", found + ": " + path, why});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
}

std::string read_text(const std::string& path) {
  const MappedFile file(path, "--input");
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
  const InputFiles files = list_files(options);
  require_outputs(options, files.paths);
  const fs::path directory = fs::path(options.output_prefix).parent_path();
  std::error_code error;
  if (!directory.empty()) fs::create_directories(directory, error);
  if (error) {
    throw UserError(Violation{"output-prefix", "--output-prefix " + options.output_prefix,
                              "its directory cannot be made: " + error.message()});
  }

  PrepareStatistics statistics;
  statistics.skipped_links = files.skipped_links;
  statistics.vocabulary = kByteVocabulary + (options.append_eod ? 1 : 0);
  IndexedDatasetWriter writer(options.output_prefix,
                              options.append_eod ? TokenType::UInt16 : TokenType::UInt8);
  ByteCounts counts;
  for (const std::string& path : files.paths) {
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
  if (statistics.skipped_links > 0) {
    text += " (" + std::to_string(statistics.skipped_links) + " symbolic links skipped)";
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
