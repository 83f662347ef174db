#include "train/indexed_dataset.h"

#include <random>
#include <vector>

#include "train/support.h"

namespace weft {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

// Built by hand after the published format: documents "ab" and "c", tokens as uint16.
std::string golden_index() {
  return std::string("MMIDIDX\0\0", 9) + bytes_of(std::uint64_t{1}) + bytes_of(std::uint8_t{8}) +
         bytes_of(std::uint64_t{2}) + bytes_of(std::uint64_t{3}) +  // counts
         bytes_of(std::int32_t{2}) + bytes_of(std::int32_t{1}) +    // lengths
         bytes_of(std::int64_t{0}) + bytes_of(std::int64_t{4}) +    // pointers
         bytes_of(std::int64_t{0}) + bytes_of(std::int64_t{1}) + bytes_of(std::int64_t{2});
}

std::string golden_data() { return std::string("a\0b\0c\0", 6); }

std::vector<std::int64_t> all_tokens(const IndexedDataset& dataset) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < dataset.num_sequences(); ++i) {
    std::vector<std::int64_t> sequence(static_cast<std::size_t>(dataset.sequence_length(i)));
    dataset.read(i, 0, sequence);
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
  }
  return tokens;
}

class Damaged : public ::testing::Test {
 protected:
  // The message on opening golden files with `bytes` written over the index at `offset`.
  std::string with_index(std::size_t offset, const std::string& bytes) {
    std::string index = golden_index();
    index.replace(offset, bytes.size(), bytes);
    return open(index, golden_data());
  }

  std::string open(const std::string& index, const std::string& data) {
    write_file(prefix_ + ".idx", index);
    write_file(prefix_ + ".bin", data);
    return message_of([&] { IndexedDataset dataset(prefix_); });
  }

  TempDir directory_;
  std::string prefix_ = directory_.file("text");
};

TEST(IndexedDataset, ReadsWhatMegatronPublished) {
  TempDir directory;
  write_file(directory.file("t.idx"), golden_index());
  write_file(directory.file("t.bin"), golden_data());
  const IndexedDataset dataset(directory.file("t"));
  EXPECT_EQ(dataset.num_documents(), 2);
  EXPECT_EQ(dataset.num_sequences(), 2);
  EXPECT_EQ(dataset.num_tokens(), 3);
  EXPECT_EQ(dataset.document_start(1), 1);
  EXPECT_EQ(dataset.document_start(2), 2);
  EXPECT_EQ(dataset.token_type(), TokenType::UInt16);
  EXPECT_THAT(all_tokens(dataset), ElementsAre('a', 'b', 'c'));
  std::vector<std::int64_t> second(1);
  dataset.read(0, 1, second);
  EXPECT_THAT(second, ElementsAre('b'));
}

TEST(IndexedDataset, WritesTheSameBytes) {
  TempDir directory;
  IndexedDatasetWriter writer(directory.file("t"), TokenType::UInt16);
  writer.add_document(std::vector<std::int64_t>{'a', 'b'});
  writer.add_document(std::vector<std::int64_t>{'c'});
  EXPECT_FALSE(testing::fs::exists(directory.file("t.idx")));
  writer.commit();
  EXPECT_EQ(read_file(directory.file("t.idx")), golden_index());
  EXPECT_EQ(read_file(directory.file("t.bin")), golden_data());
}

TEST(IndexedDataset, EveryTokenTypeKeepsItsExtremes) {
  struct Case {
    TokenType type;
    std::int64_t smallest;
    std::int64_t largest;
  };
  for (const Case& c : {Case{TokenType::UInt8, 0, 255}, Case{TokenType::Int8, -128, 127},
                        Case{TokenType::Int16, -32768, 32767}, Case{TokenType::UInt16, 0, 65535},
                        Case{TokenType::Int32, INT32_MIN, INT32_MAX},
                        Case{TokenType::Int64, INT64_MIN, INT64_MAX}}) {
    TempDir directory;
    IndexedDatasetWriter writer(directory.file("t"), c.type);
    writer.add_document(std::vector<std::int64_t>{c.smallest, 1, c.largest});
    writer.commit();
    EXPECT_THAT(all_tokens(IndexedDataset(directory.file("t"))),
                ElementsAre(c.smallest, 1, c.largest));
  }
}

TEST(IndexedDataset, ATokenThatDoesNotFitIsRefusedAndLeavesNoFile) {
  TempDir directory;
  {
    IndexedDatasetWriter writer(directory.file("t"), TokenType::UInt8);
    EXPECT_THAT(message_of([&] { writer.add_document(std::vector<std::int64_t>{256}); }),
                HasSubstr("token 256"));
  }
  EXPECT_TRUE(testing::fs::is_empty(directory.path()));
}

TEST(IndexedDataset, AMissingFileIsNamed) {
  EXPECT_THAT(message_of([] { IndexedDataset dataset("/nonexistent/text"); }),
              HasSubstr("--data-path /nonexistent/text: /nonexistent/text.idx: cannot be "
                        "opened: No such file"));
}

TEST_F(Damaged, Header) {
  EXPECT_THAT(with_index(0, "X"), HasSubstr("text.idx: the first 9 bytes"));
  EXPECT_THAT(with_index(9, bytes_of(std::uint64_t{2})), HasSubstr("version at byte 9 = 2"));
  EXPECT_THAT(with_index(17, bytes_of(std::uint8_t{7})), HasSubstr("floating-point"));
  EXPECT_THAT(with_index(17, bytes_of(std::uint8_t{0})), HasSubstr("token type at byte 17 = 0"));
  EXPECT_THAT(with_index(17, bytes_of(std::uint8_t{9})), HasSubstr("token type at byte 17 = 9"));
}

TEST_F(Damaged, AbsurdCountsAllocateNothing) {
  EXPECT_THAT(with_index(18, bytes_of(UINT64_MAX)),
              HasSubstr("number of sequences at byte 18 = 18446744073709551615"));
  EXPECT_THAT(with_index(18, bytes_of(UINT64_MAX / 12 + 1)), HasSubstr("holds at most 4"));
  EXPECT_THAT(with_index(26, bytes_of(UINT64_MAX)), HasSubstr("document indices at byte 26"));
  EXPECT_THAT(with_index(26, bytes_of(std::uint64_t{1} << 61)), HasSubstr("at byte 26"));
  EXPECT_THAT(with_index(26, bytes_of(std::uint64_t{2})), HasSubstr("at byte 26 = 2"));
}

TEST_F(Damaged, Sequences) {
  EXPECT_THAT(with_index(34, bytes_of(std::int32_t{-1})), HasSubstr("length[0] = -1"));
  EXPECT_THAT(with_index(34, bytes_of(std::int32_t{3})), HasSubstr("pointer[1] = 4"));
  EXPECT_THAT(with_index(42, bytes_of(std::int64_t{-2})), HasSubstr("pointer[0] = -2"));
  EXPECT_THAT(with_index(50, bytes_of(INT64_MAX)), HasSubstr("pointer[1] = 9223372036854775807"));
  EXPECT_THAT(with_index(38, bytes_of(INT32_MAX)), HasSubstr("ends at byte"));
}

TEST_F(Damaged, Documents) {
  EXPECT_THAT(with_index(58, bytes_of(std::int64_t{1})), HasSubstr("document index[0] = 1"));
  EXPECT_THAT(with_index(66, bytes_of(std::int64_t{3})), HasSubstr("document index[1] = 3"));
  EXPECT_THAT(with_index(66, bytes_of(std::int64_t{-1})), HasSubstr("document index[1] = -1"));
  EXPECT_THAT(with_index(74, bytes_of(std::int64_t{1})), HasSubstr("document index[2] = 1"));
}

TEST_F(Damaged, DataOfAnotherLength) {
  EXPECT_THAT(open(golden_index(), golden_data().substr(0, 5)), HasSubstr("text.bin has 5 bytes"));
  EXPECT_THAT(open(golden_index(), golden_data() + "d"), HasSubstr("accounts for 6"));
}

TEST_F(Damaged, EveryTruncationOfTheIndexIsRefused) {
  const std::string index = golden_index();
  for (std::size_t size = 0; size < index.size(); ++size) {
    EXPECT_THAT(open(index.substr(0, size), golden_data()), HasSubstr("text.idx")) << size;
  }
}

// Whatever bit flips, a dataset that opens can be read whole.
TEST(IndexedDataset, FlippedBitsAreRefusedOrHarmless) {
  TempDir directory;
  const std::string prefix = directory.file("t");
  write_file(prefix + ".bin", golden_data());
  for (std::size_t bit = 0; bit < golden_index().size() * 8; ++bit) {
    std::string index = golden_index();
    index[bit / 8] = static_cast<char>(index[bit / 8] ^ (1 << (bit % 8)));
    write_file(prefix + ".idx", index);
    try {
      const IndexedDataset dataset(prefix);
      EXPECT_EQ(static_cast<std::int64_t>(all_tokens(dataset).size()), dataset.num_tokens()) << bit;
    } catch (const UserError&) {
    }
  }
}

}  // namespace
}  // namespace weft
