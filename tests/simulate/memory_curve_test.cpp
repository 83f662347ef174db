#include "simulate/memory_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/pass_list.h"
#include "passes/plans.h"
#include "schedule/registry.h"
#include "simulate/naive.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

using testing::draw;
using testing::Random;
using Samples = std::vector<MemorySample>;

Timeline with_memory(const Schedule& schedule, const Costs& costs,
                     const std::vector<KeptBytes>& bytes) {
  Timeline timeline = simulate(schedule, costs);
  add_memory(timeline, held_by_cell(schedule, bytes), entry_times(schedule, timeline));
  return timeline;
}

Timeline with_memory(const std::string& name, int ranks, int micro_batches, const KeptBytes& bytes,
                     bool detach = false) {
  const int chunks = std::max(1, find_schedule(name)->chunks);
  const Schedule schedule = build_schedule(name, {.num_ranks = ranks,
                                                  .chunks_per_rank = chunks,
                                                  .num_micro_batches = micro_batches,
                                                  .detach = detach});
  return with_memory(schedule, Costs{},
                     std::vector<KeptBytes>(static_cast<std::size_t>(ranks * chunks), bytes));
}

std::int64_t peak_of(const RankTimeline& rank) {
  std::int64_t peak = 0;
  for (const MemorySample& sample : rank.memory) peak = std::max(peak, sample.bytes);
  return peak;
}

// Of the sample that holds at a time; before the first nothing is held.
std::int64_t bytes_at(const Samples& samples, double time) {
  std::int64_t bytes = 0;
  for (const MemorySample& sample : samples) {
    if (sample.time > time) break;
    bytes = sample.bytes;
  }
  return bytes;
}

// At 4 rank 1 ends B of micro-batch 0 and starts F of micro-batch 1: nothing changes.
TEST(MemoryCurve, OfTwoRanksAndTwoMicroBatches) {
  const Timeline timeline = with_memory("1f1b", 2, 2, {.activation = 5});
  EXPECT_EQ(timeline.ranks[0].memory, (Samples{{0, 5}, {1, 10}, {6, 5}, {9, 0}}));
  EXPECT_EQ(timeline.ranks[1].memory, (Samples{{1, 5}, {7, 0}}));
}

TEST(MemoryCurve, OfASplitBackwardAndOfWhatIsThereWhileACellRuns) {
  const Schedule schedule = parse_csv("0F0,0I0,0W0\n", "test");
  const Timeline timeline = with_memory(schedule, Costs{}, {{10, 4, 2, 0, 7}});
  EXPECT_EQ(timeline.ranks[0].memory, (Samples{{0, 12}, {1, 17}, {2, 4}, {3, 0}}));
}

// What takes no time is shown where it is a peak, and only there.
TEST(MemoryCurve, KeepsAPeakThatTakesNoTime) {
  const Schedule schedule = parse_csv("0F0,0I0,0W0\n", "test");
  Costs costs;
  costs.stage = {1, 0, 1};
  EXPECT_EQ(with_memory(schedule, costs, {{10, 4, 2, 0, 7}}).ranks[0].memory,
            (Samples{{0, 12}, {1, 17}, {1, 4}, {2, 0}}));
  EXPECT_EQ(with_memory(schedule, costs, {{10, 4, 9, 0, 7}}).ranks[0].memory,
            (Samples{{0, 19}, {1, 4}, {2, 0}}));
}

// Rank r keeps P - r micro-batches under 1F1B, M under GPipe.
TEST(MemoryCurve, PeaksAreTheClosedForms) {
  constexpr std::int64_t kBytes = 1000;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const int micro_batches : {1, 2, 4, 7, 16}) {
      const Timeline one = with_memory("1f1b", ranks, micro_batches, {.activation = kBytes});
      const Timeline all = with_memory("gpipe", ranks, micro_batches, {.activation = kBytes});
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(peak_of(one.ranks[r]), kBytes * std::min(ranks - r, micro_batches));
        EXPECT_EQ(peak_of(all.ranks[r]), kBytes * micro_batches);
      }
    }
  }
}

// Detaching leaves rank r with r + 1 W's to run when all else is done; without it no W waits but
// the one of phase 3.
TEST(MemoryCurve, DetachingKeepsWhatTheWgradsNeed) {
  constexpr std::int64_t kBytes = 1000;
  for (const int ranks : {2, 4, 8}) {
    const int micro_batches = 3 * ranks;
    const Timeline off = with_memory("dualpipev", ranks, micro_batches, {.wgrad = kBytes});
    const Timeline on = with_memory("dualpipev", ranks, micro_batches, {.wgrad = kBytes}, true);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(peak_of(off.ranks[r]), r + 1 < ranks ? kBytes : 0);
      EXPECT_EQ(peak_of(on.ranks[r]), kBytes * (r + 1));
      const double end = on.ranks[r].events.back().end;
      for (int left = 0; left <= r + 1; ++left) {
        EXPECT_EQ(bytes_at(on.ranks[r].memory, end - left), kBytes * left) << "rank " << r;
      }
    }
  }
}

// A stretch of time and what is held in it: the definitions, one by one.
struct Stretch {
  double start = 0, end = 0;
  std::int64_t bytes = 0;
};

// Compares a curve with the sum of stretches, halfway between any two times at which one begins or
// ends.
void expect_sum(const Samples& samples, const std::vector<Stretch>& stretches) {
  std::set<double> times;
  for (const Stretch& s : stretches) times.insert({s.start, s.end});
  for (auto at = times.begin(); at != times.end() && std::next(at) != times.end(); ++at) {
    const double middle = (*at + *std::next(at)) / 2;
    std::int64_t sum = 0;
    for (const Stretch& s : stretches) {
      if (s.start < middle && middle < s.end) sum += s.bytes;
    }
    ASSERT_EQ(bytes_at(samples, middle), sum) << "at " << middle;
  }
  if (!samples.empty()) {
    EXPECT_EQ(samples.back().bytes, 0);
  }
}

std::vector<Stretch> stretches_of(const RankTimeline& rank, const std::vector<KeptBytes>& bytes) {
  std::map<std::pair<char, testing::Product>, Event> by_action;
  for (const Event& event : rank.events) {
    for (const Action& action : testing::halves(std::get<Cell>(event.label))) {
      const char split = action.kind == ActionKind::Dgrad ? 'I' : ' ';
      by_action[{split, testing::product_of(action)}] = event;
    }
  }
  std::vector<Stretch> stretches;
  for (const auto& [key, event] : by_action) {
    const auto& [split, product] = key;
    const KeptBytes& kept = bytes[static_cast<std::size_t>(product.stage)];
    const auto of = [&](char kind, char mark) {
      return by_action.find({mark, {kind, product.stage, product.micro_batch}});
    };
    if (product.kind == 'F') {
      const auto whole = of('I', ' ');
      const Event& backward = (whole != by_action.end() ? whole : of('I', 'I'))->second;
      stretches.push_back({event.start, backward.end, kept.activation});
      stretches.push_back({event.start, event.end, kept.forward});
    } else if (product.kind == 'I') {
      stretches.push_back({event.start, event.end, split == 'I' ? kept.dgrad : kept.backward});
      if (split == 'I') stretches.push_back({event.end, of('W', ' ')->second.end, kept.wgrad});
    }
  }
  return stretches;
}

TEST(MemoryCurve, OfRandomPlansIsTheSumOfTheirStretches) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Schedule schedule = testing::random_schedule(random);
    std::vector<KeptBytes> bytes;
    for (int s = 0; s < schedule.map.num_stages(); ++s) {
      bytes.push_back({draw(random, 0, 99), draw(random, 0, 99), draw(random, 0, 99),
                       draw(random, 0, 99), draw(random, 0, 99)});
    }
    const Timeline timeline = with_memory(schedule, testing::random_costs(random), bytes);
    for (const RankTimeline& rank : timeline.ranks) {
      ASSERT_NO_FATAL_FAILURE(expect_sum(rank.memory, stretches_of(rank, bytes)));
    }
  }
}

struct SegmentTimes {
  Event forward, dgrad, wgrad;
  bool has_dgrad = false, has_wgrad = false;
};

std::vector<Stretch> stretches_of(const RankTimeline& rank, const Layout& layout,
                                  const CostBytes& bytes) {
  std::map<Segment, SegmentTimes> segments;
  for (const Event& event : rank.events) {
    if (!is_work(event)) continue;
    const Step& step = std::get<Step>(event.label);
    if (const auto* forward = std::get_if<RunForward>(&step)) {
      segments[forward->segment].forward = event;
    } else if (const auto* dgrad = std::get_if<RunDgrad>(&step)) {
      segments[dgrad->segment].dgrad = event;
      segments[dgrad->segment].has_dgrad = true;
    } else if (const auto* wgrad = std::get_if<RunWgrad>(&step)) {
      segments[wgrad->segment].wgrad = event;
      segments[wgrad->segment].has_wgrad = true;
    }
  }
  std::vector<Stretch> stretches;
  for (const auto& [segment, times] : segments) {
    const KeptBytes kept = bytes.segments.at(key_of(layout, segment));
    const Event& last = times.has_dgrad ? times.dgrad : times.wgrad;
    stretches.push_back({times.forward.start, last.end, kept.activation});
    stretches.push_back({times.forward.start, times.forward.end, kept.forward});
    if (!times.has_dgrad) continue;
    stretches.push_back({times.dgrad.start, times.dgrad.end, kept.dgrad});
    if (times.has_wgrad) stretches.push_back({times.dgrad.end, times.wgrad.end, kept.wgrad});
  }
  return stretches;
}

TEST(MemoryCurve, OfRandomPlansOfStepsIsTheSumOfTheirStretches) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool detach = draw(random, 0, 1) == 1, overlap = draw(random, 0, 1) == 1;
    const Schedule schedule = build_schedule("dualpipev", {.num_ranks = draw(random, 1, 4),
                                                           .chunks_per_rank = 2,
                                                           .num_micro_batches = draw(random, 1, 9),
                                                           .overlap = overlap,
                                                           .detach = detach});
    const Layout layout = testing::random_layout(schedule.map, random);
    CostBytes bytes;
    for (const SegmentKind kind :
         {SegmentKind::Embedding, SegmentKind::Attention, SegmentKind::Mlp,
          SegmentKind::SharedExpert, SegmentKind::Experts, SegmentKind::Merge, SegmentKind::Head,
          SegmentKind::MtpProjection, SegmentKind::MtpHead, SegmentKind::Identity}) {
      for (const bool moe : {false, true}) {
        bytes.segments[normalised({kind, moe})] = {draw(random, 0, 99), draw(random, 0, 99),
                                                   draw(random, 0, 99), 0, draw(random, 0, 99)};
      }
    }
    const StepPlan plan = lower(schedule, layout, default_costs(), {.moe_fb_overlap = overlap});
    Timeline timeline = simulate(plan, default_costs());
    add_memory(timeline, held_by_step(plan, bytes), entry_times(plan, timeline));
    for (const RankTimeline& rank : timeline.ranks) {
      ASSERT_NO_FATAL_FAILURE(expect_sum(rank.memory, stretches_of(rank, layout, bytes)));
    }
  }
}

}  // namespace
}  // namespace weft
