// Rows of a training run: S tokens and S labels each, numbered from 0 without an end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "overlap/stage_runner.h"

namespace weft {

class Rows {
 public:
  virtual ~Rows() = default;

  virtual std::int64_t sequence_length() const = 0;  // S
  virtual std::int64_t rows_per_epoch() const = 0;   // the data repeat after that many rows
  // Fills tokens [S] and labels [S] of any row >= 0; -100 is not counted. Errors: UserError naming
  // the file and the place of a token that is not in the vocabulary.
  virtual void read(std::int64_t row, std::int64_t* tokens, std::int64_t* labels) const = 0;
  virtual std::int64_t count_valid_labels(std::int64_t row) const = 0;
};

enum class SplitPart { Train, Validation, Test };

struct IndexedRowsOptions {
  std::string prefix;              // PREFIX.bin and PREFIX.idx
  std::string split = "969,30,1";  // shares of the documents, in their order
  SplitPart part = SplitPart::Train;
  std::int64_t sequence_length = 0;
  std::int64_t vocabulary = 0;
  std::int64_t seed = 0;
  bool shuffle = true;
};

// Sample i of a part is tokens [i S, (i + 1) S] of its documents laid end to end: S tokens, and the
// same one further on as labels, so neighbouring samples share a token. Each epoch has its own
// order, fixed by (seed, epoch). Boundaries of the parts as in Megatron
// (blended_megatron_dataset_config.py). Errors: UserError for files, split, a part that is too
// small for one sample.
std::unique_ptr<Rows> open_indexed_rows(const IndexedRowsOptions& options);

// `tokens` and, if there, `labels`, [B, S] int64, as `--token-file` in cli.md: rows in the order of
// the file, from its start again when it ends. `vocabulary` and `sequence_length` of 0 are not
// checked. Errors: UserError naming file, tensor, place, value.
std::unique_ptr<Rows> open_token_file(const std::string& path, std::int64_t vocabulary,
                                      std::int64_t sequence_length);

// Of rows [first, first + count).
std::int64_t count_valid_labels(const Rows& rows, std::int64_t first, std::int64_t count);

// tokens and labels [count, S] of rows [first, first + count).
MicroBatchData read_rows(const Rows& rows, std::int64_t first, std::int64_t count);

// How the rows of a step are dealt to data parallel ranks and micro-batches.
struct BatchShape {
  std::int64_t micro_batch_size = 1;    // MBS
  std::int64_t num_micro_batches = 1;   // M, per data parallel rank
  std::int64_t data_parallel_size = 1;  // DP

  std::int64_t global_batch_size() const {
    return micro_batch_size * num_micro_batches * data_parallel_size;
  }
  // Step s starts at row `first_row`; micro-batch m of data parallel rank d is MBS rows from
  // first_row + (m DP + d) MBS on.
  std::int64_t row_of(std::int64_t first_row, std::int64_t micro_batch, std::int64_t dp) const {
    return first_row + (micro_batch * data_parallel_size + dp) * micro_batch_size;
  }
};

}  // namespace weft
