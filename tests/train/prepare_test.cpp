#include "train/prepare.h"

#include <cmath>

#include "train/indexed_dataset.h"
#include "train/support.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_file;
using testing::SmallDisk;
using testing::TempDir;
using testing::write_file;

TEST(ByteCounts, EntropyOfTheNextByteByHand) {
  // Pairs of "aabab": aa, ab, ba, ab. After a: a once, b twice; after b: a once.
  // H = -(1 ln(1/3) + 2 ln(2/3) + 1 ln 1) / 4.
  ByteCounts counts;
  counts.add_document("aabab");
  EXPECT_NEAR(counts.bigram_entropy_nats(), (std::log(3.0) + 2 * std::log(1.5)) / 4, 1e-15);
  EXPECT_NEAR(counts.unigram_entropy_nats(), -(0.6 * std::log(0.6) + 0.4 * std::log(0.4)), 1e-15);
}

TEST(ByteCounts, PairsDoNotCrossDocuments) {
  ByteCounts counts;
  counts.add_document("ab");
  counts.add_document("ab");
  EXPECT_EQ(counts.bigram_entropy_nats(), 0.0);
}

TEST(ByteCounts, NothingHasNoEntropy) {
  EXPECT_EQ(ByteCounts().unigram_entropy_nats(), 0.0);
  EXPECT_EQ(ByteCounts().bigram_entropy_nats(), 0.0);
}

TEST(Prepare, FilesBecomeDocumentsInTheOrderOfTheirPaths) {
  TempDir directory;
  testing::fs::create_directories(directory.path() / "in" / "deep");
  write_file(directory.path() / "in" / "b.py", "BB");
  write_file(directory.path() / "in" / "deep" / "c.py", "C");
  write_file(directory.path() / "in" / "a.py", "A\xFF");
  write_file(directory.path() / "in" / "notes.txt", "no");
  write_file(directory.path() / "in" / "empty.py", "");
  testing::fs::create_directories(directory.path() / "in" / "deep" / "skipped");
  write_file(directory.path() / "in" / "deep" / "skipped" / "d.py", "D");
  testing::fs::create_directory_symlink(directory.path() / "in", directory.path() / "in" / "loop");
  const PrepareStatistics statistics = prepare({.inputs = {directory.file("in")},
                                                .output_prefix = directory.file("out/text"),
                                                .suffix = ".py",
                                                .exclude = "skipped"});
  EXPECT_EQ(statistics.documents, 3);
  EXPECT_EQ(statistics.skipped_empty, 1);
  EXPECT_EQ(statistics.bytes, 5);
  EXPECT_EQ(statistics.tokens, 5);
  EXPECT_EQ(statistics.vocabulary, 256);
  EXPECT_EQ(read_file(directory.file("out/text.bin")),
            "A\xFF"
            "BBC");
  const IndexedDataset dataset(directory.file("out/text"));
  EXPECT_EQ(dataset.token_type(), TokenType::UInt8);
  EXPECT_EQ(dataset.num_documents(), 3);
}

TEST(Prepare, AnEndOfDocumentIsToken256) {
  TempDir directory;
  write_file(directory.file("a"), "x");
  const PrepareStatistics statistics = prepare(
      {.inputs = {directory.file("a")}, .output_prefix = directory.file("t"), .append_eod = true});
  EXPECT_EQ(statistics.vocabulary, 257);
  EXPECT_EQ(statistics.tokens, 2);
  EXPECT_EQ(statistics.bytes, 1);
  std::vector<std::int64_t> tokens(2);
  IndexedDataset(directory.file("t")).read(0, 0, tokens);
  EXPECT_THAT(tokens, ElementsAre('x', 256));
}

TEST(Prepare, WhatIsWrongIsNamedAllAtOnce) {
  TempDir directory;
  const std::string message = message_of([&] {
    prepare({.inputs = {"/nonexistent/a", "/nonexistent/b"}, .output_prefix = directory.file("t")});
  });
  EXPECT_THAT(message, HasSubstr("--input /nonexistent/a"));
  EXPECT_THAT(message, HasSubstr("--input /nonexistent/b"));
  EXPECT_THAT(message_of([&] {
                prepare({.inputs = {directory.path().string()},
                         .output_prefix = directory.file("t"),
                         .suffix = ".py"});
              }),
              HasSubstr("holds no file that ends in .py"));
  EXPECT_THAT(message_of([&] { prepare({.output_prefix = "x", .tokenizer = "gpt2"}); }),
              HasSubstr("--tokenizer gpt2"));
}

TEST(Prepare, NoOutputIsAnInput) {
  TempDir directory;
  testing::fs::create_directories(directory.path() / "in" / "skipped");
  write_file(directory.file("in/a.bin"), "text");
  testing::fs::create_hard_link(directory.file("in/a.bin"), directory.file("b.idx"));
  const auto refusal = [&](const std::string& input, const std::string& prefix) {
    return message_of([&] {
      prepare({.inputs = {directory.file(input)}, .output_prefix = directory.file(prefix)});
    });
  };
  EXPECT_THAT(refusal("in/a.bin", "in/a"), HasSubstr("a.bin: would overwrite what --input names"));
  EXPECT_THAT(refusal("in", "b"), HasSubstr("b.idx: would overwrite what --input names"));
  const std::string message = refusal("in", "in/out");
  EXPECT_THAT(message, HasSubstr("in/out.bin: lies in --input"));
  EXPECT_THAT(message, HasSubstr("in/out.idx: lies in --input"));
  EXPECT_EQ(read_file(directory.file("in/a.bin")), "text");
  // What is not read as text may lie there.
  write_file(directory.file("in/a.py"), "text");
  const std::string in = directory.file("in");
  EXPECT_EQ(prepare({.inputs = {in}, .output_prefix = in + "/out", .suffix = ".py"}).documents, 1);
  EXPECT_EQ(
      prepare({.inputs = {in}, .output_prefix = in + "/skipped/t", .exclude = "skipped"}).documents,
      4);
}

TEST(Prepare, OutputsThatCannotBeWrittenAreRefusedBeforeTheWork) {
  TempDir directory;
  write_file(directory.file("text"), "text");
  testing::fs::create_directories(directory.path() / "o.idx");
  const auto refusal = [&](const std::string& prefix) {
    return message_of(
        [&] { prepare({.inputs = {directory.file("text")}, .output_prefix = prefix}); });
  };
  EXPECT_THAT(refusal(directory.file("o")), HasSubstr("o.idx: is a folder, a file is needed"));
  EXPECT_FALSE(testing::fs::exists(directory.file("o.bin")));
  for (const char* prefix : {"/", ".", "..", "./"}) {
    EXPECT_THAT(refusal(prefix), HasSubstr("names a folder"));
  }
}

TEST(Prepare, WhatCannotBeReadIsNamed) {
  TempDir directory;
  testing::fs::create_symlink("loop", directory.file("loop"));
  EXPECT_THAT(message_of([&] {
                prepare({.inputs = {directory.file("loop")}, .output_prefix = directory.file("t")});
              }),
              AllOf(HasSubstr("--input " + directory.file("loop")),
                    HasSubstr("Too many levels of symbolic links")));
}

TEST(Prepare, LinksThatArePassedOverAreCounted) {
  TempDir directory;
  testing::fs::create_directories(directory.path() / "in");
  write_file(directory.file("in/a"), "text");
  testing::fs::create_symlink("a", directory.file("in/b"));
  const PrepareStatistics statistics =
      prepare({.inputs = {directory.file("in")}, .output_prefix = directory.file("t")});
  EXPECT_EQ(statistics.documents, 1);
  EXPECT_EQ(statistics.skipped_links, 1);
  EXPECT_THAT(describe(statistics), HasSubstr("(1 symbolic links skipped)"));
}

TEST(Prepare, AFullDiskLeavesNothingBehind) {
  SmallDisk disk(256 << 10);
  WEFT_NEEDS_DISK(disk);
  TempDir directory;
  write_file(directory.file("large"), std::string(4 << 20, 'x'));
  EXPECT_THAT(message_of<RuntimeFault>([&] {
                prepare({.inputs = {directory.file("large")}, .output_prefix = disk.file("t")});
              }),
              AllOf(HasSubstr("t.bin.part"), HasSubstr("No space left on device")));
  EXPECT_TRUE(testing::fs::is_empty(disk.path()));
}

}  // namespace
}  // namespace weft
