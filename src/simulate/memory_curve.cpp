#include "simulate/memory_curve.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

class Curve {
 public:
  void add(double time, std::int64_t bytes) {
    if (time != time_) flush();
    time_ = time;
    highest_ = std::max(highest_, bytes);
    last_ = bytes;
  }

  std::vector<MemorySample> take() {
    flush();
    return std::move(samples_);
  }

 private:
  // What the time that is over leaves: its highest, if that is more than before and behind, and its
  // last.
  void flush() {
    const bool is_peak = highest_ > std::max(before_, last_);
    if (is_peak) samples_.push_back({time_, highest_});
    if (is_peak || last_ != before_) samples_.push_back({time_, last_});
    before_ = highest_ = last_;
  }

  std::vector<MemorySample> samples_;
  double time_ = 0;
  std::int64_t before_ = 0;              // up to this time
  std::int64_t highest_ = 0, last_ = 0;  // at this time
};

}  // namespace

void add_memory(Timeline& timeline, const PlanHeld& held, const PlanTimes& times) {
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    Curve curve;
    for (std::size_t i = 0; i < held.at(r).size(); ++i) {
      const EntryTime& time = times.at(r).at(i);
      curve.add(time.start, held[r][i].bytes);
      curve.add(time.end, held[r][i].bytes_after);
    }
    timeline.ranks[r].memory = curve.take();
  }
}

}  // namespace weft
