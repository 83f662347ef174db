// What a run of these tests needs: a folder of its own, data, the flags of a tiny model.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "faults/weft_process.h"

namespace weft {

// One line of --metrics.
struct LoggedStep {
  std::int64_t step = 0;
  double loss = 0;
  double step_ms = 0;
  // The line's own text of loss, gradient_digest and parameter_digest.
  std::string fingerprint;

  bool operator==(const LoggedStep& other) const {
    return step == other.step && fingerprint == other.fingerprint;
  }
};
void PrintTo(const LoggedStep& step, std::ostream* out);

std::vector<LoggedStep> read_metrics(const std::string& path);

class Workplace : public testing::Test {
 protected:
  // Writes data.bin and data.idx: 4 documents of 1,000 bytes below 128.
  Workplace();
  ~Workplace() override;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // `weft train` of 5 layers, hidden 32, sequence 16, 4 experts on those data, with `more` flags.
  Words train(const Words& more) const;
  // Waits until the metrics file has `count` lines, or the program has ended.
  std::vector<LoggedStep> wait_for_steps(WeftProcess& run, const std::string& metrics,
                                         std::size_t count) const;
  // A random number in [0, below); the seed is in the test's output.
  int random(int below);

 private:
  std::string folder_;
  std::uint64_t random_state_;
};

// DualPipeV with all that it can do, on four ranks: P = 2, EP = 2.
Words four_ranks(int micro_batches);

// Each command as a rank that was started by hand, all of one run that meets at `port`. When a rank
// ends, `rank 1: 2` on standard output says with which exit code.
Words by_hand(int port, const std::vector<Words>& commands);
int free_port();

// `took` of a death or a signal within which all ranks are gone.
inline constexpr std::chrono::seconds kAllGone{10};

}  // namespace weft
