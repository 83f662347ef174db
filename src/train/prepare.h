// `weft data prepare`: text files to an indexed dataset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct PrepareOptions {
  std::vector<std::string> inputs = {};  // files, or directories that are walked
  std::string output_prefix = {};        // writes PREFIX.bin and PREFIX.idx
  std::string tokenizer = "bytes";
  std::string suffix = {};   // of files found in directories; empty: all
  std::string exclude = {};  // name of directories that are not entered; empty: none
  bool append_eod = false;   // token 256 after each document; the vocabulary then has 257
};

struct PrepareStatistics {
  std::int64_t documents = 0;
  std::int64_t skipped_empty = 0;
  std::int64_t skipped_links = 0;
  std::int64_t bytes = 0;   // of text
  std::int64_t tokens = 0;  // with ends of documents
  std::int64_t vocabulary = 0;
  double unigram_entropy_nats = 0;  // of a byte
  double bigram_entropy_nats = 0;   // of the next byte given the one before, within documents
};

// Each file is one document, in the bytewise order of the paths; empty files are skipped, symbolic
// links within directories are not followed. Errors: UserError for inputs, tokenizer, an input
// without a file, outputs that cannot be written or are inputs, of this run or of the next;
// RuntimeFault if the disk is full (nothing is left behind).
PrepareStatistics prepare(const PrepareOptions& options);

// As lines of text, for a person.
std::string describe(const PrepareStatistics& statistics);

// Counts pairs of neighbouring bytes. H = -sum over (a, b) of c(a,b)/N ln(c(a,b)/c(a)).
class ByteCounts {
 public:
  ByteCounts();
  void add_document(const std::string& text);
  double unigram_entropy_nats() const;
  double bigram_entropy_nats() const;

 private:
  std::vector<std::int64_t> bytes_;  // [256]
  std::vector<std::int64_t> pairs_;  // [256, 256]
};

}  // namespace weft
