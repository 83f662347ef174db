// One line on a terminal that says how far something long has come.
#pragma once

#include <chrono>
#include <ostream>
#include <string_view>

namespace weft {

class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;

  // Writes nothing off a terminal, and nothing in the first second.
  StatusLine(std::ostream& out, bool terminal, Clock::time_point start = Clock::now());
  // Clears the line.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Puts `text` in place of what is there, ten times a second at most.
  void show(std::string_view text, Clock::time_point now = Clock::now());

 private:
  std::ostream& out_;
  bool terminal_;
  Clock::time_point next_;
  bool shown_ = false;
};

}  // namespace weft
