// What a person sees while a run goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace weft {

struct ProgressPoint {
  std::int64_t step = 0;  // finished steps
  std::int64_t num_steps = 0;
  double loss = 0;
  double tokens_per_second = 0;
  std::optional<double> remaining_seconds;  // not known after the first step
};

// `step  120/400  loss 2.3145  1980 tokens/s  3 min 12 s left`.
std::string format_progress(const ProgressPoint& point);
// `45 s`, `3 min 12 s`, `2 h 05 min`.
std::string format_duration(double seconds);

// On a terminal one line that is rewritten; else a line for the first step, the last, and after
// each `interval` in between.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // Steps `first_step` + 1 .. `num_steps` are to come.
  Progress(std::ostream& out, bool terminal, std::int64_t first_step, std::int64_t num_steps,
           std::chrono::milliseconds interval = std::chrono::seconds(10));

  // After a step. The remaining time is from the mean of the steps so far, without the first one.
  void update(std::int64_t step, double loss, double tokens_per_second,
              Clock::time_point now = Clock::now());
  // Prints a line of its own, above the progress.
  void message(const std::string& text);
  // Leaves the last line standing.
  void finish();

 private:
  std::optional<double> remaining_seconds(std::int64_t step, Clock::time_point now) const;

  std::ostream& out_;
  bool terminal_;
  std::int64_t num_steps_;
  std::int64_t first_step_;
  std::chrono::milliseconds interval_;
  Clock::time_point first_end_{};  // end of the first step
  Clock::time_point last_line_{};
  bool open_line_ = false;
};

}  // namespace weft
