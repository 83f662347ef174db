#include "cli/verbs.h"

namespace weft {

std::vector<VerbEntry> plan_verbs() {
  return {
      {Verb::Schedule, run_schedule}, {Verb::Simulate, run_simulate}, {Verb::Layout, run_layout},
      {Verb::Report, run_report},     {Verb::Plan, run_plan},
  };
}

}  // namespace weft
