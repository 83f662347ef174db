#include "train/step_report.h"

#include <fmt/format.h>

#include <utility>

#include "base/numbers.h"
#include "timeline/merge.h"
#include "train/gather.h"
#include "train/wire_values.h"

namespace weft {
namespace {

std::string milliseconds(double value) { return fmt::format("{:.1f}", value); }

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

constexpr double kNanosecondsPerMs = 1e6;

// One rank's recording as events that name their steps.
RankTimeline to_timeline(const Recording& recording, const std::vector<Step>& steps, Rank rank,
                         Rank pp_rank) {
  RankTimeline timeline;
  timeline.rank = rank;
  timeline.pp_rank = pp_rank;
  for (const RecordedEvent& event : recording.events) {
    const Step& step = steps.at(static_cast<std::size_t>(event.step));
    Event out{Lane::Compute,
              step,
              static_cast<double>(event.start_ns) / kNanosecondsPerMs,
              static_cast<double>(event.end_ns) / kNanosecondsPerMs,
              {}};
    if (event.kind == RecordedEvent::Kind::Wire) {
      const Wire& wire = std::get<WaitWire>(step).wire;
      out.lane = lane_of(wire.kind);
      out.label = Step(StartWire{wire});
    }
    timeline.events.push_back(std::move(out));
  }
  for (const RecordedMemory& sample : recording.memory) {
    timeline.memory.push_back(
        {static_cast<double>(sample.time_ns) / kNanosecondsPerMs, sample.bytes});
  }
  return timeline;
}

}  // namespace

Timeline gather_timeline(Group& world, const RunPlan& plan, const Recording& recording) {
  const std::vector<std::string> events = gather_bytes(world, bytes_of(recording.events));
  const std::vector<std::string> memory = gather_bytes(world, bytes_of(recording.memory));
  if (world.rank() != 0) return {};
  std::vector<RankTimeline> ranks;
  for (int rank = 0; rank < world.size(); ++rank) {
    const Coordinates at = coordinates_of(plan.mesh, Rank(rank));
    ranks.push_back(to_timeline(
        {values_of<RecordedEvent>(events[rank]), values_of<RecordedMemory>(memory[rank])},
        plan.steps.ranks[at.pp].steps, Rank(rank), Rank(at.pp)));
  }
  Timeline timeline = merge_timelines(std::move(ranks), plan.mesh);
  for (RankTimeline& rank : timeline.ranks) {
    const RankSteps& steps = plan.steps.ranks[rank.pp_rank.value];
    mark_steady(rank, steps.spans, steps.steps);
  }
  return timeline;
}

StepTimes step_times(const Timeline& timeline, double step_ms) {
  const TimelineMetrics metrics = measure(timeline);
  StepTimes times;
  times.step_ms = step_ms;
  times.all_to_all_hidden_steady = metrics.all_to_all_hidden_steady;
  times.all_to_all_hidden_outside = metrics.all_to_all_hidden_outside;
  const RankMetrics largest = largest_over_ranks(metrics);
  times.compute_ms = largest.busy;
  times.all_to_all_ms = largest.all_to_all;
  times.all_to_all_exposed_ms = largest.all_to_all_exposed;
  times.counts_exposed_ms = largest.counts_exposed;
  times.p2p_exposed_ms = largest.p2p_exposed;
  times.bubble_ms = largest.bubble;
  return times;
}

std::string print_step_table(const std::vector<StepTimes>& measured, const StepTimes& predicted,
                             bool crowded) {
  std::string table = fmt::format("{:<34}{:>12}{:>12}\n", "", "measured", "predicted");
  const auto row = [&](const char* name, const auto& of, const auto& print) {
    table += fmt::format("{:<34}{:>12}{:>12}\n", name, print(of(measured)), print(of({predicted})));
  };
  const auto times = [&](const char* name, double StepTimes::* field) {
    row(
        name,
        [field](const std::vector<StepTimes>& steps) {
          std::vector<double> values;
          for (const StepTimes& step : steps) values.push_back(step.*field);
          return median(std::move(values)).value_or(0);
        },
        milliseconds);
  };
  const auto shares = [&](const char* name, std::optional<double> StepTimes::* field) {
    row(
        name,
        [field](const std::vector<StepTimes>& steps) -> std::optional<double> {
          std::vector<double> values;
          for (const StepTimes& step : steps) {
            if (step.*field) values.push_back(*(step.*field));
          }
          return median(std::move(values));
        },
        percent);
  };
  times("step, ms", &StepTimes::step_ms);
  times("  compute, busiest rank", &StepTimes::compute_ms);
  times("  all-to-all exposed", &StepTimes::all_to_all_exposed_ms);
  times("  counts exposed", &StepTimes::counts_exposed_ms);
  times("  P2P exposed", &StepTimes::p2p_exposed_ms);
  times("  bubble", &StepTimes::bubble_ms);
  times("all-to-all on the wire, ms", &StepTimes::all_to_all_ms);
  shares("  hidden in steady", &StepTimes::all_to_all_hidden_steady);
  shares("  hidden outside", &StepTimes::all_to_all_hidden_outside);
  if (crowded) {
    table +=
        "More ranks than cores: a wait includes the time in which another rank computes on the "
        "same core.\n";
  }
  return table;
}

}  // namespace weft
