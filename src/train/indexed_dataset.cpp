#include "train/indexed_dataset.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "both files are little endian");

constexpr char kMagic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
constexpr std::int64_t kVersionAt = 9;
constexpr std::int64_t kTypeAt = 17;
constexpr std::int64_t kSequencesAt = 18;
constexpr std::int64_t kIndicesAt = 26;
constexpr std::int64_t kLengthsAt = 34;

[[noreturn]] void refuse(const MappedFile& file, const std::string& found, const std::string& why) {
  throw UserError(Violation{"indexed-dataset", file.path().string() + ": " + found, why});
}

// The fields of an index are not aligned.
template <class T>
T read_at(const MappedFile& file, std::int64_t offset) {
  T value;
  std::memcpy(&value, file.bytes().data() + offset, sizeof value);
  return value;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
std::string at(const char* field, std::int64_t index, T value) {
  return std::string(field) + "[" + std::to_string(index) + "] = " + std::to_string(value);
}

// Calls visit with a value of the C++ type of the tokens.
template <class Visit>
auto visit_type(TokenType type, Visit visit) {
  switch (type) {
    case TokenType::UInt8:
      return visit(std::uint8_t{});
    case TokenType::Int8:
      return visit(std::int8_t{});
    case TokenType::Int16:
      return visit(std::int16_t{});
    case TokenType::Int32:
      return visit(std::int32_t{});
    case TokenType::Int64:
      return visit(std::int64_t{});
    case TokenType::UInt16:
      return visit(std::uint16_t{});
  }
  throw InternalError("token type without a C++ type");
}

std::int64_t size_bytes(const MappedFile& file) {
  return static_cast<std::int64_t>(file.bytes().size());
}

}  // namespace

std::int64_t token_size_bytes(TokenType type) {
  return visit_type(type, [](auto token) { return static_cast<std::int64_t>(sizeof token); });
}

IndexedDataset::IndexedDataset(const std::string& prefix)
    : prefix_(prefix),
      index_(prefix + ".idx", "--data-path " + prefix),
      data_(prefix + ".bin", "--data-path " + prefix) {
  check_header();
  check_documents();
  check_sequences();
}

void IndexedDataset::check_header() {
  const std::int64_t size = size_bytes(index_);
  if (size < kLengthsAt) {
    refuse(index_, std::to_string(size) + " bytes", "the header alone has 34 bytes");
  }
  if (std::memcmp(index_.bytes().data(), kMagic, sizeof kMagic) != 0) {
    refuse(index_, "the first 9 bytes", "an index of Megatron starts with MMIDIDX and two zeros");
  }
  const auto version = read_at<std::uint64_t>(index_, kVersionAt);
  if (version != 1) {
    refuse(index_, "version at byte 9 = " + std::to_string(version), "version 1 is read");
  }
  const int code = read_at<std::uint8_t>(index_, kTypeAt);
  if (code == 6 || code == 7) {
    refuse(index_, "token type at byte 17 = " + std::to_string(code),
           "floating-point data are no tokens; allowed: 1 (uint8), 2, 3, 4, 5 (int8 to int64), "
           "8 (uint16)");
  }
  if (code < 1 || code > 8) {
    refuse(index_, "token type at byte 17 = " + std::to_string(code),
           "allowed: 1 (uint8), 2, 3, 4, 5 (int8 to int64), 8 (uint16)");
  }
  type_ = static_cast<TokenType>(code);
  const auto sequences = read_at<std::uint64_t>(index_, kSequencesAt);
  const auto indices = read_at<std::uint64_t>(index_, kIndicesAt);
  const auto rest = static_cast<std::uint64_t>(size - kLengthsAt);
  // Divides instead of multiplying, so that no count can overflow.
  if (sequences > rest / 12) {
    refuse(
        index_, "number of sequences at byte 18 = " + std::to_string(sequences),
        "a file of " + std::to_string(size) + " bytes holds at most " + std::to_string(rest / 12));
  }
  if (indices != (rest - 12 * sequences) / 8 || (rest - 12 * sequences) % 8 != 0) {
    refuse(index_,
           "number of document indices at byte 26 = " + std::to_string(indices) + ", " +
               std::to_string(sequences) + " sequences, " + std::to_string(size) + " bytes",
           "the file must have 34 + 12 * sequences + 8 * document indices bytes (indices of "
           "multimodal data are not read)");
  }
  if (indices == 0) refuse(index_, "number of document indices at byte 26 = 0", "at least 1");
  num_sequences_ = static_cast<std::int64_t>(sequences);
  num_indices_ = static_cast<std::int64_t>(indices);
}

void IndexedDataset::check_sequences() const {
  const std::int64_t token_size = token_size_bytes(type_);
  const std::int64_t data_size = size_bytes(data_);
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < num_sequences_; ++i) {
    const std::int64_t length = sequence_length(i);
    const std::int64_t start = pointer(i);
    if (length < 0) refuse(index_, at("length", i, length), "a length is not negative");
    if (start != end) {
      refuse(index_, at("pointer", i, start),
             "expected " + std::to_string(end) + ", the end of the sequence before");
    }
    end = start + length * token_size;
    if (end > data_size) {
      refuse(index_, at("pointer", i, start) + ", " + at("length", i, length),
             "the sequence ends at byte " + std::to_string(end) + " but " + data_.path().string() +
                 " has " + std::to_string(data_size) + " bytes");
    }
  }
  if (end != data_size) {
    refuse(data_, std::to_string(data_size) + " bytes",
           index_.path().string() + " accounts for " + std::to_string(end));
  }
}

void IndexedDataset::check_documents() const {
  std::int64_t before = 0;
  for (std::int64_t k = 0; k < num_indices_; ++k) {
    const std::int64_t start = document_start(k);
    if (k == 0 && start != 0) refuse(index_, at("document index", k, start), "the first is 0");
    if (start < before || start > num_sequences_) {
      refuse(index_, at("document index", k, start),
             "indices rise from 0 to the number of sequences, " + std::to_string(num_sequences_));
    }
    before = start;
  }
  if (before != num_sequences_) {
    refuse(index_, at("document index", num_indices_ - 1, before),
           "the last is the number of sequences, " + std::to_string(num_sequences_));
  }
}

std::int64_t IndexedDataset::num_tokens() const {
  return size_bytes(data_) / token_size_bytes(type_);
}

std::int64_t IndexedDataset::sequence_length(std::int64_t sequence) const {
  return read_at<std::int32_t>(index_, kLengthsAt + 4 * sequence);
}

std::int64_t IndexedDataset::pointer(std::int64_t sequence) const {
  return read_at<std::int64_t>(index_, kLengthsAt + 4 * num_sequences_ + 8 * sequence);
}

std::int64_t IndexedDataset::document_start(std::int64_t document) const {
  return read_at<std::int64_t>(index_, kLengthsAt + 12 * num_sequences_ + 8 * document);
}

std::int64_t IndexedDataset::offset_bytes(std::int64_t sequence, std::int64_t token) const {
  return pointer(sequence) + token * token_size_bytes(type_);
}

void IndexedDataset::read(std::int64_t sequence, std::int64_t first,
                          std::span<std::int64_t> out) const {
  const std::byte* from = data_.bytes().data() + offset_bytes(sequence, first);
  visit_type(type_, [&](auto token) {
    for (std::int64_t& value : out) {
      std::memcpy(&token, from, sizeof token);
      value = static_cast<std::int64_t>(token);
      from += sizeof token;
    }
  });
}

IndexedDatasetWriter::IndexedDatasetWriter(const std::string& prefix, TokenType type)
    : data_(prefix + ".bin"), index_(prefix + ".idx"), type_(type) {}

void IndexedDatasetWriter::add_document(std::span<const std::int64_t> tokens) {
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw UserError(Violation{"document-size", std::to_string(tokens.size()) + " tokens",
                              "a document has fewer than 2^31 tokens; cut it"});
  }
  std::string bytes;
  visit_type(type_, [&](auto narrow) {
    using Narrow = decltype(narrow);
    bytes.reserve(tokens.size() * sizeof narrow);
    for (const std::int64_t token : tokens) {
      if (token < std::int64_t{std::numeric_limits<Narrow>::min()} ||
          token > std::int64_t{std::numeric_limits<Narrow>::max()}) {
        throw UserError(Violation{"token-range", "token " + std::to_string(token),
                                  "does not fit the dataset's token type"});
      }
      append(bytes, static_cast<Narrow>(token));
    }
  });
  data_.write(bytes);
  append(lengths_, static_cast<std::int32_t>(tokens.size()));
  append(pointers_, position_bytes_);
  position_bytes_ += static_cast<std::int64_t>(bytes.size());
  ++num_sequences_;
}

void IndexedDatasetWriter::commit() {
  std::string header(kMagic, sizeof kMagic);
  append(header, std::uint64_t{1});
  append(header, static_cast<std::uint8_t>(type_));
  append(header, static_cast<std::uint64_t>(num_sequences_));
  append(header, static_cast<std::uint64_t>(num_sequences_ + 1));
  index_.write(header);
  index_.write(lengths_);
  index_.write(pointers_);
  for (std::int64_t k = 0; k <= num_sequences_; ++k) index_.write(&k, sizeof k);
  data_.commit();
  index_.commit();
}

}  // namespace weft
