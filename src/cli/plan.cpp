#include "cli/output.h"
#include "cli/verbs.h"
#include "estimate/run_report.h"

namespace weft {

void run_plan(const Request& request, const RunFacts& facts) {
  const RunReport report = make_run_report(request, facts);
  const bool json = format_of(request.config.output, "json") == "json";
  write_result(request.config.output, json ? report_json(report) : report_text(report));
}

}  // namespace weft
