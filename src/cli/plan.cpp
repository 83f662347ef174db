#include "cli/output.h"
#include "cli/verbs.h"
#include "estimate/run_report.h"
#include "estimate/search.h"

namespace weft {

void run_plan(const Request& request, const RunFacts& facts) {
  const bool json = format_of(request.config.output, "json") == "json";
  if (request.config.plan.search) {
    const SearchReport report = search_runs(request, facts);
    write_result(request.config.output, json ? search_json(report) : search_text(report));
    return;
  }
  const RunReport report = make_run_report(request, facts);
  write_result(request.config.output, json ? report_json(report) : report_text(report));
}

}  // namespace weft
