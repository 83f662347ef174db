// Small training runs in one process, ranks as threads, for tests of whole runs.
#pragma once

#include <string>
#include <vector>

#include "comm/local.h"
#include "config/config.h"
#include "train/trainer.h"

namespace weft {

// A model small enough for hundreds of runs: hidden 16, sequence 8, vocabulary 32, 4 experts,
// top-2.
Config tiny_config(int num_layers);

// Random tokens [rows, S] in a safetensors file that is removed with the object; some labels are
// -100, unequally many per row.
class TinyTokens {
 public:
  TinyTokens(int rows, int seq_length, int vocab_size, int seed);
  ~TinyTokens();
  TinyTokens(const TinyTokens&) = delete;
  TinyTokens& operator=(const TinyTokens&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Trains on `world_size` threads and returns what rank 0 has.
TrainResult run_threads(const Config& config, int world_size, const LocalOptions& options = {});

// `loss gradient_digest parameter_digest` of every step, the bits of the loss in hex.
std::string fingerprint(const std::vector<StepMetrics>& steps);

}  // namespace weft
