#include "passes/verify_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/numbers.h"
#include "passes/plan_text.h"

namespace weft {
namespace {

// What a limit is on: how much of it an entry holds while it runs, and when it has ended.
struct Limited {
  const char* what;
  std::int64_t limit;
  std::function<std::int64_t(const Held&)> running;
  std::function<std::int64_t(const Held&)> after;

  std::int64_t amount(const Held& held) const { return std::max(running(held), after(held)); }
};

std::vector<Limited> limited(const PlanLimits& limits) {
  std::vector<Limited> all;
  const auto none = [](const Held&) { return std::int64_t{0}; };
  if (limits.live_chunks) {
    all.push_back({"live chunks", *limits.live_chunks, [](const Held& h) { return h.live_chunks; },
                   none});
  }
  if (limits.pending_wgrads) {
    all.push_back({"pending W's", *limits.pending_wgrads, none,
                   [](const Held& h) { return h.pending_wgrads; }});
  }
  if (limits.bytes) {
    all.push_back({"bytes", *limits.bytes, [](const Held& h) { return h.bytes; },
                   [](const Held& h) { return h.bytes_after; }});
  }
  return all;
}

// The first entry of a rank with more than the limit.
void check(const Limited& limited, const std::vector<Held>& held, int rank, const PlanTimes& times,
           const PlanText& text, FindingList& findings) {
  const auto amount = [&](const Held& entry) { return limited.amount(entry); };
  const auto over =
      std::ranges::find_if(held, [&](std::int64_t found) { return found > limited.limit; }, amount);
  if (over == held.end()) return;
  const auto peak = std::ranges::max_element(held, {}, amount);
  const auto place_of = [&](auto entry) {
    return Place{rank, static_cast<int>(entry - held.begin())};
  };
  // When the entry holds more than `limit`.
  const auto when = [&](auto entry, std::int64_t limit) -> std::string {
    if (times.empty()) return "";
    const EntryTime& time = times.at(rank).at(entry - held.begin());
    return " at " + print_double(limited.running(*entry) > limit ? time.start : time.end);
  };
  const std::int64_t running = limited.running(*over);
  std::string message = fmt::format("{}{}: {} {}, the limit is {}", text.name(place_of(over)),
                                    when(over, limited.limit),
                                    running > limited.limit ? running : limited.after(*over),
                                    limited.what, limited.limit);
  message += fmt::format("; the rank's peak is {}", amount(*peak));
  if (peak != over) message += when(peak, amount(*peak) - 1);
  findings.add(message, {place_of(over)});
}

std::vector<Finding> check_all(const PlanText& text, const PlanHeld& held, const PlanLimits& limits,
                               const PlanTimes& times) {
  FindingList findings("verify_limits", text);
  const std::vector<Limited> all = limited(limits);
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    for (const Limited& one : all) {
      check(one, held[rank], static_cast<int>(rank), times, text, findings);
    }
  }
  return findings.take();
}

}  // namespace

std::vector<Finding> verify_limits(const Schedule& schedule, const PlanHeld& held,
                                   const PlanLimits& limits, const PlanTimes& times) {
  return check_all(PlanText(schedule), held, limits, times);
}

std::vector<Finding> verify_limits(const StepPlan& plan, const PlanHeld& held,
                                   const PlanLimits& limits, const PlanTimes& times) {
  return check_all(PlanText(plan), held, limits, times);
}

}  // namespace weft
