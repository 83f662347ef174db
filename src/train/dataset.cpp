#include "train/dataset.h"

#include <ATen/Functions.h>

namespace weft {

std::int64_t count_valid_labels(const Rows& rows, std::int64_t first, std::int64_t count) {
  std::int64_t sum = 0;
  for (std::int64_t row = first; row < first + count; ++row) sum += rows.count_valid_labels(row);
  return sum;
}

MicroBatchData read_rows(const Rows& rows, std::int64_t first, std::int64_t count) {
  const std::int64_t length = rows.sequence_length();
  MicroBatchData data{at::empty({count, length}, at::kLong), at::empty({count, length}, at::kLong)};
  auto* tokens = data.tokens.mutable_data_ptr<std::int64_t>();
  auto* labels = data.labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    rows.read(first + i, tokens + i * length, labels + i * length);
  }
  return data;
}

}  // namespace weft
