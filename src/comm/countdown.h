// A deadline for a process that may be stopped meanwhile. Internal to comm/.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft {

// Counts only time in which this process runs: a run that is stopped (Ctrl-Z) and goes on finds its
// deadlines where it left them, to within half a second.
class Countdown {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Countdown(Clock::duration limit) : left_(limit) {}

  bool is_over() const { return left_ <= Clock::duration::zero(); }

  // Waits until notified, at most `longest` and not beyond the deadline. May return early.
  void wait_once(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                 Clock::duration longest = Clock::duration::max()) {
    const Clock::duration slice = std::min({left_, longest, kSlice});
    const Clock::time_point start = Clock::now();
    changed.wait_for(lock, slice);
    left_ -= std::min(Clock::now() - start, slice + kSlice);
  }

  // Waits until `condition` holds; false if the deadline passes before.
  template <class Condition>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
            const Condition& condition) {
    while (!condition()) {
      if (is_over()) return false;
      wait_once(changed, lock);
    }
    return true;
  }

 private:
  static constexpr Clock::duration kSlice = std::chrono::milliseconds(250);

  Clock::duration left_;
};

}  // namespace weft
