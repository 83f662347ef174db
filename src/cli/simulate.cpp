#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/times.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "costs/costs.h"
#include "estimate/simulated_plan.h"
#include "estimate/units.h"
#include "passes/live.h"
#include "passes/verify.h"
#include "plan/run_plan.h"
#include "schedule/text.h"
#include "timeline/html.h"
#include "timeline/live_chunks.h"
#include "timeline/metrics.h"
#include "timeline/write_timelines.h"

namespace weft {
namespace {

// The level that --level says, else the steps level where the costs name wires.
std::string level_of(const Request& request, const Costs& costs) {
  if (request.given("level")) return request.config.output.level;
  return costs.wires.empty() ? "compute" : "steps";
}

struct Simulation {
  SimulatedPlan plan;
  // With --overlap-outside-steady, of the same plan without it.
  std::optional<double> makespan_without;
  TimelineMetrics metrics;
  std::vector<LiveCounts> live;
};

std::int64_t peak_bytes(const RankTimeline& rank) {
  std::int64_t peak = 0;
  for (const MemorySample& sample : rank.memory) peak = std::max(peak, sample.bytes);
  return peak;
}

std::string label_text(const EventLabel& label) {
  return std::visit([](const auto& value) { return print(value); }, label);
}

nlohmann::ordered_json events_json(const RankTimeline& rank) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const Event& event : rank.events) {
    events.push_back(
        {{"action", label_text(event.label)}, {"start", event.start}, {"end", event.end}});
  }
  return events;
}

// [time, what is held from then on]
template <class Sample, class T>
nlohmann::ordered_json curve_json(const std::vector<Sample>& samples, T Sample::* value) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const Sample& sample : samples) {
    curve.push_back(nlohmann::ordered_json::array({sample.time, sample.*value}));
  }
  return curve;
}

nlohmann::ordered_json rank_json(const Simulation& simulation, std::size_t r, bool with_events) {
  const RankMetrics& metrics = simulation.metrics.ranks[r];
  const RankTimeline& rank = simulation.plan.timeline.ranks.at(r);
  nlohmann::ordered_json json = {{"rank", r},
                                 {"busy", metrics.busy},
                                 {"idle", metrics.idle},
                                 {"bubble", metrics.bubble},
                                 {"exposed_communication", metrics.exposed_communication},
                                 {"peak_live_chunks", simulation.live.at(r).peak_live_chunks},
                                 {"max_pending_wgrads", simulation.live.at(r).max_pending_wgrads}};
  if (simulation.plan.bytes_known) json["peak_activation_bytes"] = peak_bytes(rank);
  if (!with_events) return json;
  json["events"] = events_json(rank);
  json["live_chunks"] = curve_json(live_chunks(rank), &LiveSample::chunks);
  if (simulation.plan.bytes_known) {
    json["activation_bytes"] = curve_json(rank.memory, &MemorySample::bytes);
  }
  return json;
}

std::string simulation_json(const Simulation& simulation, bool with_events) {
  nlohmann::ordered_json json = {{"makespan", simulation.metrics.makespan}};
  if (simulation.makespan_without) {
    json["makespan_without_overlap_outside_steady"] = *simulation.makespan_without;
  }
  json["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < simulation.metrics.ranks.size(); ++r) {
    json["ranks"].push_back(rank_json(simulation, r, with_events));
  }
  return json.dump(1) + "\n";
}

std::string simulation_text(const Simulation& simulation) {
  const Timeline& timeline = simulation.plan.timeline;
  std::string text = "makespan " + print_time(simulation.metrics.makespan, timeline.unit) + "\n";
  if (simulation.makespan_without) {
    text += "without --overlap-outside-steady " +
            print_time(*simulation.makespan_without, timeline.unit) + "\n";
  }
  const TimeScale scale = time_scale(simulation.metrics.makespan, timeline.unit);
  const bool bytes = simulation.plan.bytes_known;
  text +=
      fmt::format("\n{:>4} {:>10} {:>10} {:>10} {:>10} {:>12} {:>12}{}\n", "rank", "busy", "idle",
                  "bubble", "exposed", "live chunks", "pending W", bytes ? "   peak bytes" : "");
  for (std::size_t r = 0; r < simulation.metrics.ranks.size(); ++r) {
    const RankMetrics& rank = simulation.metrics.ranks[r];
    const LiveCounts& live = simulation.live.at(r);
    text += fmt::format("{:>4} {:>10} {:>10} {:>10} {:>10} {:>12} {:>12}", r,
                        scale.text(rank.busy, 6), scale.text(rank.idle, 6),
                        scale.text(rank.bubble, 6), scale.text(rank.exposed_communication, 6),
                        live.peak_live_chunks, live.max_pending_wgrads);
    if (bytes) text += fmt::format(" {:>12}", print_bytes(peak_bytes(timeline.ranks.at(r))));
    text += "\n";
  }
  return text;
}

// What the flag changes at the steps level; it changes nothing at the compute level.
std::optional<double> makespan_without_flag(const Config& config, const Schedule& schedule,
                                            const Costs& costs, const std::string& level) {
  if (!config.schedule.overlap_outside_steady) return std::nullopt;
  if (level != "steps") {
    log_info("--overlap-outside-steady changes nothing at the " + level +
             " level: --level steps, or costs that name wires (--costs), have the steps simulated");
    return std::nullopt;
  }
  Config without = config;
  without.schedule.overlap_outside_steady = false;
  return measure(simulate_plan(without, schedule, costs, level).timeline).makespan;
}

}  // namespace

void run_simulate(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  Costs costs = given_costs(config);
  const std::string level = level_of(request, costs);
  if (level == "steps") costs = step_costs(config);
  const Schedule schedule = make_schedule(config, costs);
  if (std::vector<Finding> findings = verify_order(schedule); !findings.empty()) {
    throw PlanError(std::move(findings));
  }
  Simulation simulation{simulate_plan(config, schedule, costs, level),
                        makespan_without_flag(config, schedule, costs, level),
                        {},
                        count_live(compute_level(schedule))};
  Timeline& timeline = simulation.plan.timeline;
  simulation.metrics = measure(timeline);
  if (!config.train.timeline.empty()) {
    write_timelines(config.train.timeline, {schedule_title(config), {}, timeline, {}});
  }
  const std::string format = format_of(config.output, "json");
  if (format == "html") {
    write_result(config.output,
                 print_html({schedule_title(config), {{"simulated", std::move(timeline)}}, {}}));
  } else if (format == "json") {
    write_result(config.output, simulation_json(simulation, config.output.events));
  } else {
    write_result(config.output, simulation_text(simulation));
  }
}

}  // namespace weft
