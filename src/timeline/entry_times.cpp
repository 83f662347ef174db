#include "timeline/entry_times.h"

#include <type_traits>
#include <variant>

namespace weft {
namespace {

// Goes through the compute lane of a rank in its order, which is that of the plan's list; waits are
// entries of a list of steps alone.
class ComputeLane {
 public:
  ComputeLane(const RankTimeline& rank, bool has_waits)
      : events_(rank.events), has_waits_(has_waits) {
    find_next(0);
  }

  EntryTime time_of(const EventLabel& entry) {
    const bool has_event = next_ < events_.size() && events_[next_].label == entry;
    if (!has_event) return {clock_, clock_};
    const EntryTime time{events_[next_].start, events_[next_].end};
    clock_ = time.end;
    find_next(next_ + 1);
    return time;
  }

 private:
  void find_next(std::size_t from) {
    next_ = from;
    const auto is_entry = [&](const Event& event) {
      return has_waits_ ? event.lane == Lane::Compute : is_work(event);
    };
    while (next_ < events_.size() && !is_entry(events_[next_])) ++next_;
  }

  const std::vector<Event>& events_;
  const bool has_waits_;
  std::size_t next_ = 0;
  double clock_ = 0;
};

template <class Entry>
std::vector<EntryTime> times_of(const std::vector<Entry>& entries, const RankTimeline& rank) {
  ComputeLane lane(rank, std::is_same_v<Entry, Step>);
  std::vector<EntryTime> times;
  times.reserve(entries.size());
  for (const Entry& entry : entries) times.push_back(lane.time_of(EventLabel(entry)));
  return times;
}

}  // namespace

PlanTimes entry_times(const Schedule& schedule, const Timeline& timeline) {
  PlanTimes times;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    times.push_back(times_of(schedule.ranks[r], timeline.ranks.at(r)));
  }
  return times;
}

PlanTimes entry_times(const StepPlan& plan, const Timeline& timeline) {
  PlanTimes times;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    times.push_back(times_of(plan.ranks[r].steps, timeline.ranks.at(r)));
  }
  return times;
}

}  // namespace weft
