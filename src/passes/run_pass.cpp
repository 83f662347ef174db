#include "passes/run_pass.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "schedule/csv.h"
#include "schedule/text.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string text_of(const Schedule& schedule) { return print_csv(schedule); }

std::string text_of(const StepPlan& plan) {
  std::string text;
  for (const RankSteps& rank : plan.ranks) {
    for (const Step& step : rank.steps)
      text += (&step == rank.steps.data() ? "" : ",") + print(step);
    text += '\n';
  }
  return text;
}

template <class Plan>
Plan run(std::string_view name, const std::function<Plan()>& pass,
         const std::function<std::vector<Finding>(const Plan&)>& verify) {
  const auto start = Clock::now();
  Plan plan = pass();
  const double pass_ms = ms_since(start);
  const auto verify_start = Clock::now();
  std::vector<Finding> findings = verify(plan);
  if (std::getenv("WEFT_DUMP_PASSES") != nullptr) {
    log_info(fmt::format("{}: {:.1f} ms, verified in {:.1f} ms\n{}", name, pass_ms,
                         ms_since(verify_start), text_of(plan)));
  }
  if (!findings.empty()) throw PlanError(std::move(findings));
  return plan;
}

}  // namespace

Schedule run_pass(std::string_view name, const std::function<Schedule()>& pass,
                  const std::function<std::vector<Finding>(const Schedule&)>& verify) {
  return run(name, pass, verify);
}

StepPlan run_pass(std::string_view name, const std::function<StepPlan()>& pass,
                  const std::function<std::vector<Finding>(const StepPlan&)>& verify) {
  return run(name, pass, verify);
}

}  // namespace weft
