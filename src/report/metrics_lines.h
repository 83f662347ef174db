// The lines of a `--metrics` file, as far as a report reads them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Figures of a step in the order of a report: key in the file, words, and whether it is a share of
// one rather than a time in ms.
struct MetricsFigure {
  std::string_view key;
  std::string_view words;
  bool is_share = false;
};

inline constexpr std::size_t kNumMetricsFigures = 8;
inline constexpr std::array<MetricsFigure, kNumMetricsFigures> kMetricsFigures = {{
    {"step_ms", "step, ms"},
    {"bubble_ms", "  bubble"},
    {"all_to_all_exposed_ms", "  all-to-all exposed"},
    {"p2p_exposed_ms", "  P2P exposed"},
    {"counts_exposed_ms", "  counts exposed"},
    {"all_to_all_ms", "all-to-all on the wire, ms"},
    {"all_to_all_hidden_steady", "  hidden in steady", true},
    {"all_to_all_hidden_outside", "  hidden outside", true},
}};

struct MetricsLine {
  std::int64_t step = 0;
  std::array<std::optional<double>, kNumMetricsFigures> figures;  // null in the file: empty
};

// One line a step, blank lines skipped, other keys passed over. A run that was resumed writes some
// steps twice: the later line counts. Throws UserError, rule "metrics-file", with file and line of
// what is no such object, and for a file without steps.
std::vector<MetricsLine> parse_metrics(std::string_view text, const std::string& source);

}  // namespace weft
