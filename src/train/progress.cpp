#include "train/progress.h"

#include <cmath>
#include <cstdio>

namespace weft {

std::string format_duration(double seconds) {
  const auto total = static_cast<long long>(std::llround(seconds < 0 ? 0 : seconds));
  char text[64];
  if (total < 60) {
    std::snprintf(text, sizeof text, "%lld s", total);
  } else if (total < 3600) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", total / 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld h %02lld min", total / 3600, total % 3600 / 60);
  }
  return text;
}

std::string format_progress(const ProgressPoint& point) {
  const auto width = static_cast<int>(std::to_string(point.num_steps).size());
  char text[160];
  std::snprintf(text, sizeof text, "step %*lld/%lld  loss %.4f  %.0f tokens/s", width,
                static_cast<long long>(point.step), static_cast<long long>(point.num_steps),
                point.loss, point.tokens_per_second);
  if (point.step == point.num_steps) return std::string(text) + "  done";
  if (!point.remaining_seconds) return text;
  return std::string(text) + "  " + format_duration(*point.remaining_seconds) + " left";
}

Progress::Progress(std::ostream& out, bool terminal, std::int64_t first_step,
                   std::int64_t num_steps, std::chrono::milliseconds interval)
    : out_(out),
      terminal_(terminal),
      num_steps_(num_steps),
      first_step_(first_step),
      interval_(interval) {}

std::optional<double> Progress::remaining_seconds(std::int64_t step, Clock::time_point now) const {
  const std::int64_t measured = step - first_step_ - 1;
  if (measured <= 0) return std::nullopt;
  const double elapsed = std::chrono::duration<double>(now - first_end_).count();
  return elapsed / static_cast<double>(measured) * static_cast<double>(num_steps_ - step);
}

void Progress::update(std::int64_t step, double loss, double tokens_per_second,
                      Clock::time_point now) {
  const bool first = step == first_step_ + 1;
  if (first) first_end_ = now;
  const std::string text =
      format_progress({step, num_steps_, loss, tokens_per_second, remaining_seconds(step, now)});
  if (terminal_) {
    out_ << "\r\033[K" << text << std::flush;
    open_line_ = true;
  } else if (first || step == num_steps_ || now - last_line_ >= interval_) {
    last_line_ = now;
    out_ << text << std::endl;
  }
}

void Progress::message(const std::string& text) {
  if (open_line_) out_ << "\r\033[K";
  open_line_ = false;
  out_ << text << std::endl;
}

void Progress::finish() {
  if (open_line_) out_ << std::endl;
  open_line_ = false;
}

}  // namespace weft
