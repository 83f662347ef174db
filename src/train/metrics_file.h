// `--metrics FILE.jsonl`: one object a step, with the keys of cli.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0;
  double aux_loss = 0;
  double mtp_loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  std::int64_t tokens = 0;
  double step_ms = 0;
  double tokens_per_second = 0;
  double all_to_all_ms = 0;
  double all_to_all_exposed_ms = 0;
  std::optional<double> all_to_all_hidden_steady = {};  // null if there was no all-to-all
  std::optional<double> all_to_all_hidden_outside = {};
  double counts_exposed_ms = 0;
  double p2p_exposed_ms = 0;
  double bubble_ms = 0;
  std::int64_t peak_activation_bytes = 0;
  int peak_live_chunks = 0;
  int max_pending_wgrads = 0;
  std::optional<std::uint64_t> gradient_digest = {};   // left out if not there
  std::optional<std::uint64_t> parameter_digest = {};  // left out if not there
  std::optional<double> validation_loss = {};          // left out if not there

  bool operator==(const StepMetrics&) const = default;
};

// One line of JSON without its newline. Numbers read back to the same bits; JSON has no word for
// one that is not finite, which becomes null.
std::string print_metrics(const StepMetrics& metrics);

// Rank 0's file. A run that starts anew replaces it; one that continues after --load adds to the
// lines up to its step, so that steps which a run that died had taken further stand there once. A
// line that cannot be written leaves no part of itself, and no empty file, behind. The file is
// locked while this lives.
class MetricsFile {
 public:
  // `after_step`: what is loaded; 0: nothing. Throws UserError if another run is writing there,
  // RuntimeFault naming file and reason, also from write().
  MetricsFile(const std::string& path, std::int64_t after_step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // On the way to the disk in one piece when this returns: a reader never sees half a line.
  void write(const StepMetrics& metrics);

 private:
  void hold();

  std::string path_;
  int descriptor_ = -1;
  bool is_new_ = false;
  bool has_lines_ = false;
};

}  // namespace weft
