#include "simulate/simulate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/numbers.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "costs/costs.h"
#include "layout/make_layout.h"
#include "passes/live.h"
#include "passes/pass_list.h"
#include "passes/verify.h"
#include "plan/run_plan.h"
#include "schedule/text.h"
#include "timeline/html.h"
#include "timeline/metrics.h"
#include "timeline/write_timelines.h"

namespace weft {
namespace {

// The compute level, or the steps level where the costs name wires.
Timeline simulated(const Config& config, const Schedule& schedule, const Costs& costs) {
  if (costs.wires.empty()) return simulate(compute_level(schedule), costs);
  return simulate(lower(schedule, make_layout(config, schedule.map), costs, lower_options(config)),
                  costs);
}

struct Simulation {
  Timeline timeline;
  // With --overlap-outside-steady, of the same plan without it.
  std::optional<double> makespan_without;
  TimelineMetrics metrics;
  std::vector<LiveCounts> live;
};

std::string label_text(const EventLabel& label) {
  return std::visit([](const auto& value) { return print(value); }, label);
}

std::string simulation_json(const Simulation& simulation, bool with_events) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < simulation.metrics.ranks.size(); ++r) {
    const RankMetrics& rank = simulation.metrics.ranks[r];
    nlohmann::ordered_json json = {
        {"rank", r},
        {"busy", rank.busy},
        {"idle", rank.idle},
        {"bubble", rank.bubble},
        {"exposed_communication", rank.exposed_communication},
        {"peak_live_chunks", simulation.live.at(r).peak_live_chunks},
        {"max_pending_wgrads", simulation.live.at(r).max_pending_wgrads}};
    if (with_events) {
      json["events"] = nlohmann::ordered_json::array();
      for (const Event& event : simulation.timeline.ranks.at(r).events) {
        json["events"].push_back(
            {{"action", label_text(event.label)}, {"start", event.start}, {"end", event.end}});
      }
    }
    ranks.push_back(std::move(json));
  }
  nlohmann::ordered_json json = {{"makespan", simulation.metrics.makespan}};
  if (simulation.makespan_without) {
    json["makespan_without_overlap_outside_steady"] = *simulation.makespan_without;
  }
  json["ranks"] = std::move(ranks);
  return json.dump(1) + "\n";
}

std::string simulation_text(const Simulation& simulation) {
  std::string text = "makespan " + print_double(simulation.metrics.makespan) + " " +
                     simulation.timeline.unit + "\n";
  if (simulation.makespan_without) {
    text += "without --overlap-outside-steady " + print_double(*simulation.makespan_without) + " " +
            simulation.timeline.unit + "\n";
  }
  text += "\n";
  text += fmt::format("{:>4} {:>10} {:>10} {:>10} {:>10} {:>12} {:>12}\n", "rank", "busy", "idle",
                      "bubble", "exposed", "live chunks", "pending W");
  for (std::size_t r = 0; r < simulation.metrics.ranks.size(); ++r) {
    const RankMetrics& rank = simulation.metrics.ranks[r];
    const LiveCounts& live = simulation.live.at(r);
    text += fmt::format("{:>4} {:>10.6g} {:>10.6g} {:>10.6g} {:>10.6g} {:>12} {:>12}\n", r,
                        rank.busy, rank.idle, rank.bubble, rank.exposed_communication,
                        live.peak_live_chunks, live.max_pending_wgrads);
  }
  return text;
}

// What the flag changes at the steps level; it changes nothing at the compute level.
std::optional<double> makespan_without_flag(const Config& config, const Schedule& schedule,
                                            const Costs& costs) {
  if (!config.schedule.overlap_outside_steady) return std::nullopt;
  if (costs.wires.empty()) {
    log_info(
        "--overlap-outside-steady changes nothing at the compute level: costs that name wires "
        "(--costs) have the steps simulated");
    return std::nullopt;
  }
  Config without = config;
  without.schedule.overlap_outside_steady = false;
  return measure(simulated(without, schedule, costs)).makespan;
}

}  // namespace

void run_simulate(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const Costs costs = given_costs(config);
  const Schedule schedule = make_schedule(config, costs);
  if (std::vector<Finding> findings = verify_order(schedule); !findings.empty()) {
    throw PlanError(std::move(findings));
  }
  Simulation simulation{simulated(config, schedule, costs),
                        makespan_without_flag(config, schedule, costs),
                        {},
                        count_live(compute_level(schedule))};
  simulation.metrics = measure(simulation.timeline);
  if (!config.train.timeline.empty()) {
    write_timelines(config.train.timeline, {schedule_title(config), {}, simulation.timeline, {}});
  }
  const std::string format = format_of(config.output, "json");
  if (format == "html") {
    write_result(
        config.output,
        print_html({schedule_title(config), {{"simulated", std::move(simulation.timeline)}}, {}}));
  } else if (format == "json") {
    write_result(config.output, simulation_json(simulation, config.output.events));
  } else {
    write_result(config.output, simulation_text(simulation));
  }
}

}  // namespace weft
