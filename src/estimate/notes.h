// What a person should know of a run beside its numbers.
#pragma once

#include <string>
#include <vector>

#include "estimate/run_report.h"

namespace weft {

// One sentence each: what training cannot run yet, communication that nothing hides, layers that do
// not divide, memory that does not suffice.
std::vector<std::string> make_notes(const Config& config, const RunPlan& plan,
                                    const RunReport& report);

}  // namespace weft
