#include "base/status_line.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kDelay{1000};
constexpr std::chrono::milliseconds kInterval{100};
constexpr std::string_view kClear = "\r\033[K";

}  // namespace

StatusLine::StatusLine(std::ostream& out, bool terminal, Clock::time_point start)
    : out_(out), terminal_(terminal), next_(start + kDelay) {}

StatusLine::~StatusLine() {
  if (shown_) out_ << kClear << std::flush;
}

void StatusLine::show(std::string_view text, Clock::time_point now) {
  if (!terminal_ || now < next_) return;
  next_ = now + kInterval;
  shown_ = true;
  out_ << kClear << text << std::flush;
}

}  // namespace weft
