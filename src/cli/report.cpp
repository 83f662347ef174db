#include "report/report.h"

#include "base/error.h"
#include "base/files.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "costs/costs_toml.h"
#include "report/print_report.h"
#include "timeline/html.h"
#include "timeline/measured_costs.h"

namespace weft {
namespace {

TimelineFile read_timeline(const std::string& path, std::string_view flag) {
  return parse_timeline_file(read_file(path, flag), path);
}

ReportInput read_input(const Config& config) {
  ReportInput input;
  const TrainConfig& files = config.train;
  if (!files.metrics.empty()) {
    input.metrics = parse_metrics(read_file(files.metrics, "--metrics"), files.metrics);
  }
  if (!files.timeline.empty()) {
    input.measured = read_timeline(files.timeline, "--timeline");
    input.predicted = input.measured->predicted;
  }
  if (!config.report.predicted.empty()) {
    TimelineFile file = read_timeline(config.report.predicted, "--predicted");
    input.predicted = std::move(file.timeline);
    input.predicted_title = std::move(file.title);
  }
  return input;
}

void write_costs(const Timeline& timeline, const std::string& path) {
  const Costs costs = costs_from_timelines({timeline});
  if (costs.segments.empty()) {
    throw UserError(Violation{"report-costs", "--costs " + path,
                              "the timeline holds no segments to take costs from: give one that "
                              "`weft train` wrote"});
  }
  write_file(path, print_costs(costs), "--costs");
}

std::string page_of(const Report& report, ReportInput input) {
  Page page{report.title.empty() ? "Weft report" : report.title, {}, report_tables(report)};
  if (input.measured) {
    page.timelines.push_back(
        {"measured", std::move(input.measured->timeline), std::move(input.measured->title)});
  }
  if (input.predicted) {
    page.timelines.push_back(
        {"predicted", std::move(*input.predicted), std::move(input.predicted_title)});
  }
  return print_html(page);
}

}  // namespace

void run_report(const Request& request, const RunFacts& /*facts*/) {
  const Config& config = request.config;
  ReportInput input = read_input(config);
  const Report report = make_report(input);
  if (!config.train.costs.empty()) write_costs(input.measured->timeline, config.train.costs);
  const std::string format = format_of(config.output, "json");
  if (format == "html") {
    write_result(config.output, page_of(report, std::move(input)));
  } else if (format == "json") {
    write_result(config.output, print_report_json(report));
  } else {
    write_result(config.output, print_report_text(report, terminal_width(config.output, 100)));
  }
}

}  // namespace weft
