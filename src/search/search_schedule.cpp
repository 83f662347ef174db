#include "search/search_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/times.h"
#include "search/bound.h"
#include "search/built_ins.h"
#include "search/clock.h"
#include "search/search_words.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

constexpr int kLeastLiveChunks = 2;

struct Judged {
  double makespan = 0;
  double bubble = 0;
};

// What `weft simulate` would say, the costs being those of a V's stages.
Judged judge(const AutoRequest& request, const Schedule& schedule, bool overlap) {
  const Costs costs = costs_on(schedule.map, request.costs);
  Timeline timeline;
  if (request.layout) {
    LowerOptions options = request.lowering;
    options.moe_fb_overlap = overlap;
    options.overlap_outside_steady = options.overlap_outside_steady && overlap;
    const StepPlan plan = lower(schedule, layout_on(schedule.map, *request.layout), costs, options);
    timeline = simulate(plan, costs);
  } else {
    timeline = simulate(schedule, costs);
  }
  const TimelineMetrics metrics = measure(timeline);
  Judged judged{metrics.makespan, 0};
  for (const RankMetrics& rank : metrics.ranks) {
    judged.bubble = std::max(judged.bubble, rank.bubble);
  }
  return judged;
}

std::string summary_of(const FoundSchedule& found, int limit, double bound,
                       const std::string& unit) {
  const auto number = [&unit](double time) { return print_time(time, unit); };
  std::string text = fmt::format("auto: makespan {}, bubble {}, at most {} live chunks",
                                 number(found.makespan), number(found.bubble), limit);
  if (bound > 0) {
    text += found.makespan <= bound * (1 + 1e-9) ? "; no order ends earlier"
                                                 : "; none can end before " + number(bound);
  }
  if (found.best_built_in.empty()) return text + "; no built-in schedule fits";
  const double gain = 1 - found.makespan / found.built_in_makespan;
  text +=
      fmt::format("; best built-in that fits: {}, makespan {}, bubble {}: ", found.best_built_in,
                  number(found.built_in_makespan), number(found.built_in_bubble));
  if (gain > 5e-5) return text + fmt::format("{:.2f} % gained", 100 * gain);
  if (gain < -1e-9) return text + "faster here, since its stages lie on the ranks as a loop";
  return text + "nothing gained";
}

// Each pair as its forward, then its backward: what a pair is where none is woven. Ends no later.
void split_pairs(Words& words) {
  for (Word& word : words) {
    Word split;
    for (const Op op : word) {
      const OpParts& parts = parts_of(op);
      if (parts.forward >= 0 && parts.dgrad >= 0) {
        split.insert(split.end(), {forward_op(parts.forward), backward_op(parts.dgrad)});
      } else {
        split.push_back(op);
      }
    }
    word = std::move(split);
  }
}

class ScheduleSearch {
 public:
  explicit ScheduleSearch(const AutoRequest& request)
      : request_(request),
        limit_(request.max_live_chunks.value_or(default_live_chunks(request.num_ranks))),
        built_ins_(built_ins_that_fit(request.num_ranks, request.num_micro_batches, limit_,
                                      request.overlap)) {}

  FoundSchedule run() {
    const SearchProblem problem = make_search_problem();
    Clock clock(problem);
    std::vector<Draft> incumbents;
    for (const BuiltIn& built_in : built_ins_) {
      std::optional<Words> words = words_of(built_in.schedule);
      if (!words) continue;
      if (!problem.pairs) split_pairs(*words);
      const double makespan = clock.run(*words);
      if (makespan != Clock::kNever) incumbents.push_back({std::move(*words), makespan});
    }
    for (const Draft& draft : search_words(problem, std::move(incumbents))) {
      consider(schedule_of(draft.words, problem.num_micro_batches));
      // Chunk costs say all there is to say; of plans with wires they are an estimate.
      if (!request_.layout) break;
    }
    for (const BuiltIn& built_in : built_ins_) compare(built_in);
    found_.summary =
        summary_of(found_, limit_, request_.layout ? 0 : lower_bound(problem), request_.costs.unit);
    return std::move(found_);
  }

 private:
  SearchProblem make_search_problem() const {
    const CellCosts costs = request_.layout
                                ? woven_costs(*request_.layout, request_.costs, request_.overlap)
                                : compute_costs(request_.num_ranks, request_.costs);
    return make_problem(request_.num_ranks, request_.num_micro_batches, limit_,
                        request_.overlap || costs.pairs_pay(), costs);
  }

  void consider(Schedule schedule) {
    const Judged judged = judge(request_, schedule, request_.overlap);
    if (!found_.schedule.ranks.empty() && judged.makespan >= found_.makespan) return;
    found_.schedule = std::move(schedule);
    found_.makespan = judged.makespan;
    found_.bubble = judged.bubble;
  }

  void compare(const BuiltIn& built_in) {
    if (built_in.schedule.map.placement == Placement::V) consider(built_in.schedule);
    const Judged judged = judge(request_, built_in.schedule, built_in.overlap);
    if (!found_.best_built_in.empty() && judged.makespan >= found_.built_in_makespan) return;
    found_.best_built_in = built_in.flags;
    found_.built_in_makespan = judged.makespan;
    found_.built_in_bubble = judged.bubble;
  }

  const AutoRequest& request_;
  const int limit_;
  const std::vector<BuiltIn> built_ins_;
  FoundSchedule found_;
};

}  // namespace

int default_live_chunks(int num_ranks) { return 2 * num_ranks + 1; }

FoundSchedule search_schedule(const AutoRequest& request) {
  if (const int limit = request.max_live_chunks.value_or(kLeastLiveChunks);
      limit < kLeastLiveChunks) {
    throw UserError({"max-live-chunks", "--max-live-chunks " + std::to_string(limit),
                     "a rank holds both chunks of a micro-batch at once, however they are "
                     "ordered: the smallest limit that can be met is 2"});
  }
  return ScheduleSearch(request).run();
}

}  // namespace weft
