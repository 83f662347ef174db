// Megatron's indexed dataset, PREFIX.bin and PREFIX.idx
// (megatron/core/datasets/indexed_dataset.py).
//
// .bin is the tokens of all sequences, one after the other. .idx, little endian, without padding:
// "MMIDIDX\0\0", version 1 as u64, token type as u8, number of sequences n as u64, number of
// document indices d as u64, lengths i32[n] in tokens, pointers i64[n] in bytes of .bin, document
// indices i64[d]: document k is sequences [index[k], index[k + 1]).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "train/files.h"

namespace weft {

// Megatron's codes. Its floating-point codes, 6 and 7, hold no tokens and are refused.
enum class TokenType : std::uint8_t {
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  UInt16 = 8,
};

std::int64_t token_size_bytes(TokenType type);

// A mapped pair of files. The constructor checks everything that the index says against the sizes
// of both files. Errors: UserError naming file, field, value found, what is allowed.
class IndexedDataset {
 public:
  explicit IndexedDataset(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  TokenType token_type() const { return type_; }
  std::int64_t num_sequences() const { return num_sequences_; }
  std::int64_t num_documents() const { return num_indices_ - 1; }
  std::int64_t num_tokens() const;

  std::int64_t sequence_length(std::int64_t sequence) const;
  // First sequence of a document; of num_documents() the number of sequences.
  std::int64_t document_start(std::int64_t document) const;
  // Tokens [first, first + out.size()) of a sequence, widened.
  void read(std::int64_t sequence, std::int64_t first, std::span<std::int64_t> out) const;
  // Offset in .bin of a sequence's token, for messages.
  std::int64_t offset_bytes(std::int64_t sequence, std::int64_t token) const;

 private:
  void check_header();
  void check_sequences() const;
  void check_documents() const;
  std::int64_t pointer(std::int64_t sequence) const;

  std::string prefix_;
  MappedFile index_;
  MappedFile data_;
  TokenType type_ = TokenType::UInt8;
  std::int64_t num_sequences_ = 0;
  std::int64_t num_indices_ = 0;
};

// Writes a pair document by document; both files appear only at commit(), the index last. What the
// index needs is kept in memory: 12 bytes a sequence and 8 a document.
class IndexedDatasetWriter {
 public:
  IndexedDatasetWriter(const std::string& prefix, TokenType type);

  // One document of one sequence. Errors: UserError if a token does not fit the type or the
  // document has 2^31 tokens or more; RuntimeFault if the disk is full.
  void add_document(std::span<const std::int64_t> tokens);
  void commit();

 private:
  AtomicFile data_;
  AtomicFile index_;
  TokenType type_;
  std::int64_t position_bytes_ = 0;
  std::string lengths_;  // as they go into the file
  std::string pointers_;
  std::int64_t num_sequences_ = 0;
};

}  // namespace weft
