// The one way in which passes are run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

// Runs `pass` and then `verify` on its result; throws PlanError with every finding. With
// WEFT_DUMP_PASSES in the environment the result and the time both took go to standard error.
Schedule run_pass(std::string_view name, const std::function<Schedule()>& pass,
                  const std::function<std::vector<Finding>(const Schedule&)>& verify);
StepPlan run_pass(std::string_view name, const std::function<StepPlan()>& pass,
                  const std::function<std::vector<Finding>(const StepPlan&)>& verify);

}  // namespace weft
