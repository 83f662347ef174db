#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/schedule_text.h"
#include "cli/verbs.h"
#include "costs/costs.h"
#include "estimate/simulated_plan.h"
#include "layout/make_layout.h"
#include "passes/pass_list.h"
#include "passes/verify.h"
#include "plan/run_plan.h"
#include "schedule/csv.h"
#include "schedule/text.h"
#include "simulate/simulate.h"
#include "timeline/grid.h"
#include "timeline/html.h"
#include "timeline/svg.h"

namespace weft {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void require_none(std::vector<Finding> findings) {
  if (!findings.empty()) throw PlanError(std::move(findings));
}

Rows rows_of(const Schedule& schedule) {
  Rows rows;
  for (const std::vector<Cell>& cells : schedule.ranks) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const Cell& cell : cells) row.push_back(print(cell));
  }
  return rows;
}

Rows rows_of(const StepPlan& plan) {
  Rows rows;
  for (const RankSteps& rank : plan.ranks) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const Step& step : rank.steps) row.push_back(print(step));
  }
  return rows;
}

std::string csv_text(const Rows& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += row[i];
    }
    text += '\n';
  }
  return text;
}

std::string schedule_json(const Config& config, const Schedule& schedule, const Rows& rows) {
  nlohmann::ordered_json json;
  json["schedule"] = config.schedule.schedules_method;
  json["level"] = config.output.level;
  json["num_ranks"] = schedule.map.num_ranks;
  json["num_stages"] = schedule.map.num_stages();
  json["placement"] = schedule.map.placement == Placement::V ? "v" : "looped";
  json["num_microbatches"] = schedule.num_micro_batches;
  json["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    json["ranks"].push_back({{"rank", rank}, {"cells", rows[rank]}});
  }
  return json.dump(1) + "\n";
}

Rows lowered_rows(const Config& config, const Schedule& schedule) {
  if (config.output.level == "compute") return rows_of(compute_level(schedule));
  if (config.output.level == "transfers") return rows_of(verified_transfers(config, schedule));
  return rows_of(lower(schedule, make_layout(config, schedule.map), step_costs(config),
                       lower_options(config)));
}

// When everything would run; at the levels above steps under the costs of cells.
Timeline timeline_of(const Config& config, const Schedule& schedule) {
  const std::string& level = config.output.level;
  const Costs costs = level == "steps" ? step_costs(config) : given_costs(config);
  return simulate_plan(config, schedule, costs, level).timeline;
}

std::string text_of(const Config& config, const Schedule& schedule) {
  const int width = terminal_width(config.output);
  if (config.output.level == "steps") {
    const Costs costs = step_costs(config);
    const StepPlan plan =
        lower(schedule, make_layout(config, schedule.map), costs, lower_options(config));
    return steps_text(plan, simulate(plan, costs), width);
  }
  const Timeline compute = simulate(compute_level(schedule), given_costs(config));
  if (config.output.level == "compute") return print_grid(compute, width);
  return transfers_text(verified_transfers(config, schedule), compute, width);
}

}  // namespace

void run_schedule(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const Schedule schedule = make_schedule(config, given_costs(config));
  require_none(verify_order(schedule));
  const std::string format = format_of(config.output, "csv");
  // A list and a text are held to the limits, as a picture is.
  const bool drawn = format == "svg" || format == "html";
  if (!drawn && limits_of(config) != PlanLimits{}) timeline_of(config, schedule);
  if (format == "text") {
    write_result(config.output, text_of(config, schedule));
  } else if (format == "svg") {
    write_result(config.output, print_svg(timeline_of(config, schedule), schedule_title(config)));
  } else if (format == "html") {
    write_result(
        config.output,
        print_html({schedule_title(config), {{"simulated", timeline_of(config, schedule)}}, {}}));
  } else {
    const Rows rows = lowered_rows(config, schedule);
    write_result(config.output,
                 format == "csv" ? csv_text(rows) : schedule_json(config, schedule, rows));
  }
}

}  // namespace weft
