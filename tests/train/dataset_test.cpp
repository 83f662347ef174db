#include "train/dataset.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "train/indexed_dataset.h"
#include "train/random.h"
#include "train/safetensors.h"
#include "train/support.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TempDir;

// Documents of the given lengths, tokens 0, 1, 2, … through all of them.
void write_documents(const std::string& prefix, const std::vector<int>& lengths) {
  IndexedDatasetWriter writer(prefix, TokenType::UInt16);
  std::int64_t next = 0;
  for (const int length : lengths) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(length));
    std::iota(tokens.begin(), tokens.end(), next);
    next += length;
    writer.add_document(tokens);
  }
  writer.commit();
}

std::vector<std::int64_t> tokens_of(const Rows& rows, std::int64_t row) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(rows.sequence_length()));
  std::vector<std::int64_t> labels(tokens.size());
  rows.read(row, tokens.data(), labels.data());
  return tokens;
}

std::vector<std::int64_t> labels_of(const Rows& rows, std::int64_t row) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(rows.sequence_length()));
  std::vector<std::int64_t> labels(tokens.size());
  rows.read(row, tokens.data(), labels.data());
  return labels;
}

TEST(Permute, IsAPermutationForEverySize) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 16, 17, 100, 1000}) {
    std::vector<bool> seen(size, false);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t image = permute(7, size, i);
      ASSERT_LT(image, size);
      ASSERT_FALSE(seen[image]) << size << " " << i;
      seen[image] = true;
    }
  }
}

// Mean distance of a random permutation of n is about n / 3; an order that is left alone has 0.
TEST(Permute, MovesFar) {
  double distance = 0;
  const std::uint64_t size = 10'000;
  for (std::uint64_t i = 0; i < size; ++i) {
    distance += std::abs(static_cast<double>(permute(1, size, i)) - static_cast<double>(i));
  }
  EXPECT_NEAR(distance / static_cast<double>(size * size), 1.0 / 3, 0.02);
}

TEST(MixBits, IsSplitMix64) {
  // The first outputs of SplitMix64 from state 0, as published with its reference code.
  EXPECT_EQ(mix_bits(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(mix_bits(0x9E3779B97F4A7C15u), 0x6E789E6AA1B965F4u);
}

TEST(IndexedRows, SamplesRunOverDocumentsAndShareATokenWithTheNext) {
  TempDir directory;
  write_documents(directory.file("t"), {3, 0, 5, 2});
  const auto rows = open_indexed_rows({.prefix = directory.file("t"),
                                       .split = "1",
                                       .sequence_length = 4,
                                       .vocabulary = 10,
                                       .shuffle = false});
  EXPECT_EQ(rows->rows_per_epoch(), 2);  // 10 tokens, (10 - 1) / 4
  EXPECT_THAT(tokens_of(*rows, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(labels_of(*rows, 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tokens_of(*rows, 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(labels_of(*rows, 1), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(tokens_of(*rows, 2), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(count_valid_labels(*rows, 0, 3), 12);
}

TEST(IndexedRows, PartsAreCutByDocuments) {
  TempDir directory;
  write_documents(directory.file("t"), std::vector<int>(10, 3));
  const auto first_token = [&](const std::string& split, SplitPart part) {
    return tokens_of(*open_indexed_rows({.prefix = directory.file("t"),
                                         .split = split,
                                         .part = part,
                                         .sequence_length = 2,
                                         .vocabulary = 30,
                                         .shuffle = false}),
                     0)[0];
  };
  EXPECT_EQ(first_token("8,1,1", SplitPart::Train), 0);
  EXPECT_EQ(first_token("8,1,1", SplitPart::Validation), 24);
  EXPECT_EQ(first_token("8,1,1", SplitPart::Test), 27);
  EXPECT_EQ(first_token("0.5,0.5", SplitPart::Validation), 15);
  // 10 documents at 969 : 30 : 1 leave validation none.
  EXPECT_THAT(message_of([&] { first_token("969,30,1", SplitPart::Validation); }),
              HasSubstr("the validation part has 0 of 10 documents, 0 tokens"));
}

TEST(IndexedRows, ABadSplitIsRefused) {
  TempDir directory;
  write_documents(directory.file("t"), {9});
  for (const char* split : {"", "1,", "a", "1,2,3,4", "-1,2", "0,0,0", "1;2", "nan", "inf"}) {
    EXPECT_THAT(message_of([&] {
                  open_indexed_rows({.prefix = directory.file("t"),
                                     .split = split,
                                     .sequence_length = 2,
                                     .vocabulary = 9});
                }),
                HasSubstr(std::string("--split ") + split));
  }
}

TEST(IndexedRows, EveryEpochHoldsEverySampleInItsOwnOrder) {
  TempDir directory;
  write_documents(directory.file("t"), {101});
  const auto order = [&](std::int64_t seed, std::int64_t epoch) {
    const auto rows = open_indexed_rows({.prefix = directory.file("t"),
                                         .split = "1",
                                         .sequence_length = 2,
                                         .vocabulary = 101,
                                         .seed = seed});
    std::vector<std::int64_t> first;
    for (std::int64_t i = 0; i < 50; ++i) first.push_back(tokens_of(*rows, epoch * 50 + i)[0]);
    return first;
  };
  const std::vector<std::int64_t> epoch_0 = order(1, 0);
  EXPECT_EQ(order(1, 0), epoch_0);
  EXPECT_NE(order(1, 1), epoch_0);
  EXPECT_NE(order(2, 0), epoch_0);
  std::vector<std::int64_t> all(50);
  for (std::int64_t i = 0; i < 50; ++i) all[static_cast<std::size_t>(i)] = 2 * i;
  EXPECT_NE(epoch_0, all);
  for (std::vector<std::int64_t> epoch : {order(1, 0), order(1, 1), order(2, 0)}) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, all);
  }
}

TEST(IndexedRows, ATokenOutsideTheVocabularyIsPlaced) {
  TempDir directory;
  write_documents(directory.file("t"), {2, 4});
  const auto rows = open_indexed_rows({.prefix = directory.file("t"),
                                       .split = "1",
                                       .sequence_length = 5,
                                       .vocabulary = 5,
                                       .shuffle = false});
  EXPECT_THAT(message_of([&] { tokens_of(*rows, 0); }),
              HasSubstr("t.bin: token 5 at byte 10 (sequence 1, token 3)"));
}

TEST(TokenFile, WithoutLabelsTheNextTokenIsTheTarget) {
  TempDir directory;
  const std::string path = directory.file("t.safetensors");
  save_safetensors(path, {{"tokens", at::arange(6, at::kLong).view({2, 3})}});
  const auto rows = open_token_file(path, 6, 0);
  EXPECT_EQ(rows->sequence_length(), 3);
  EXPECT_EQ(rows->rows_per_epoch(), 2);
  EXPECT_THAT(tokens_of(*rows, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(labels_of(*rows, 1), ElementsAre(4, 5, -100));
  EXPECT_THAT(tokens_of(*rows, 2), ElementsAre(0, 1, 2));
  EXPECT_EQ(count_valid_labels(*rows, 0, 3), 6);
}

TEST(TokenFile, LabelsAreTakenAsTheyAre) {
  TempDir directory;
  const std::string path = directory.file("t.safetensors");
  at::Tensor labels = at::zeros({1, 3}, at::kLong);
  labels[0][1] = -100;
  save_safetensors(path, {{"tokens", at::ones({1, 3}, at::kLong)}, {"labels", labels}});
  const auto rows = open_token_file(path, 2, 3);
  EXPECT_THAT(labels_of(*rows, 0), ElementsAre(0, -100, 0));
  EXPECT_EQ(count_valid_labels(*rows, 0, 1), 2);
}

TEST(TokenFile, WhatIsWrongIsPlaced) {
  TempDir directory;
  const std::string path = directory.file("t.safetensors");
  const auto refusal = [&](const NamedTensors& tensors, std::int64_t length = 0) {
    save_safetensors(path, tensors);
    return message_of([&] { open_token_file(path, 5, length); });
  };
  const at::Tensor good = at::zeros({2, 3}, at::kLong);
  at::Tensor large = good.clone();
  large[1][2] = 5;
  at::Tensor negative = good.clone();
  negative[0][1] = -100;
  EXPECT_THAT(refusal({{"tokens", large}}), HasSubstr("tokens[1, 2] = 5: in [0, 5)"));
  EXPECT_THAT(refusal({{"tokens", negative}}), HasSubstr("tokens[0, 1] = -100"));
  EXPECT_THAT(refusal({{"tokens", good}, {"labels", large}}), HasSubstr("labels[1, 2] = 5"));
  EXPECT_THAT(refusal({{"tokens", good}, {"labels", at::zeros({2, 2}, at::kLong)}}),
              HasSubstr("differ in shape"));
  EXPECT_THAT(refusal({{"tokens", at::zeros({2, 3}, at::kInt)}}), HasSubstr("[B, S] int64"));
  EXPECT_THAT(refusal({{"tokens", at::zeros({6}, at::kLong)}}), HasSubstr("[B, S] int64"));
  EXPECT_THAT(refusal({{"token", good}}), HasSubstr("no tensor tokens"));
  EXPECT_THAT(refusal({{"tokens", good}}, 4), HasSubstr("--seq-length is 4"));
}

TEST(BatchShape, RowsAreDealtAsTheCommandLineSays) {
  const BatchShape shape{.micro_batch_size = 2, .num_micro_batches = 3, .data_parallel_size = 2};
  EXPECT_EQ(shape.global_batch_size(), 12);
  EXPECT_EQ(shape.row_of(12, 0, 0), 12);
  EXPECT_EQ(shape.row_of(12, 0, 1), 14);
  EXPECT_EQ(shape.row_of(12, 2, 1), 22);
}

TEST(ReadRows, StacksRows) {
  TempDir directory;
  write_documents(directory.file("t"), {9});
  const auto rows = open_indexed_rows({.prefix = directory.file("t"),
                                       .split = "1",
                                       .sequence_length = 2,
                                       .vocabulary = 9,
                                       .shuffle = false});
  const MicroBatchData data = read_rows(*rows, 1, 2);
  EXPECT_TRUE(at::equal(data.tokens, at::arange(2, 6, at::kLong).view({2, 2})));
  EXPECT_TRUE(at::equal(data.labels, at::arange(3, 7, at::kLong).view({2, 2})));
}

}  // namespace
}  // namespace weft
