#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "base/status_line.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "estimate/run_report.h"
#include "estimate/search.h"

namespace weft {
namespace {

SearchReport search_with_status(const Request& request, const RunFacts& facts) {
  StatusLine line(std::cerr, isatty(STDERR_FILENO) == 1);
  return search_runs(request, facts, [&](const SearchProgress& progress) {
    line.show(progress.simulated == 0
                  ? fmt::format("looked at {} of {} ways", progress.looked_at, progress.tried)
                  : fmt::format("simulated {} of {} ways at most", progress.simulated,
                                progress.most_simulated));
  });
}

}  // namespace

void run_plan(const Request& request, const RunFacts& facts) {
  constexpr int kWidth = 100;
  const int width = terminal_width(request.config.output, kWidth);
  const bool json = format_of(request.config.output, "json") == "json";
  if (request.config.plan.search) {
    const SearchReport report = search_with_status(request, facts);
    write_result(request.config.output, json ? search_json(report) : search_text(report, width));
    return;
  }
  const RunReport report = make_run_report(request, facts);
  write_result(request.config.output, json ? report_json(report) : report_text(report, width));
}

}  // namespace weft
