#include <nlohmann/json.hpp>
#include <optional>

#include "cli/output.h"
#include "cli/verbs.h"
#include "costs/costs.h"
#include "estimate/simulated_plan.h"
#include "layout/make_layout.h"
#include "passes/pass_list.h"
#include "passes/verify.h"
#include "plan/run_plan.h"
#include "schedule/csv.h"
#include "schedule/text.h"
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

// One line per cell: for a person, where there is no unit of time to draw by.
std::string list_text(const Rows& rows) {
  std::string text;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    text += "rank " + std::to_string(rank) + "\n";
    for (const std::string& cell : rows[rank]) text += "  " + cell + "\n";
  }
  return text;
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

// Null for a format that lists cells.
std::optional<std::string> drawn(const Config& config, const Schedule& schedule,
                                 const std::string& format) {
  if (format == "svg") {
    return print_svg(timeline_of(config, schedule), schedule_title(config));
  }
  if (format == "html") {
    return print_html({schedule_title(config), {{"simulated", timeline_of(config, schedule)}}, {}});
  }
  if (format == "text" && config.output.level == "compute") {
    return print_grid(timeline_of(config, schedule), terminal_width(config.output));
  }
  return std::nullopt;
}

}  // namespace

void run_schedule(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const Schedule schedule = make_schedule(config, given_costs(config));
  require_none(verify_order(schedule));
  const std::string format = format_of(config.output, "csv");
  if (const std::optional<std::string> picture = drawn(config, schedule, format)) {
    write_result(config.output, *picture);
    return;
  }
  // A list is held to the limits, as a picture is.
  if (limits_of(config) != PlanLimits{}) timeline_of(config, schedule);
  const Rows rows = lowered_rows(config, schedule);
  if (format == "csv") {
    write_result(config.output, csv_text(rows));
  } else if (format == "json") {
    write_result(config.output, schedule_json(config, schedule, rows));
  } else {
    write_result(config.output, list_text(rows));
  }
}

}  // namespace weft
