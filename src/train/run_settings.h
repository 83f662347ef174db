// What the ranks of a run have to have alike, for when they meet.
#pragma once

#include <vector>

#include "comm/shared_setting.h"
#include "config/config.h"
#include "config/request.h"
#include "plan/run_plan.h"

namespace weft {

// The number of ranks and every flag of `train` with its value in `config`, which is resolved, but
// for those that only rank 0 reads (--metrics, --timeline). Files that are read count by what is in
// them, wherever they lie: costs and schedules whole, --load by its manifest, data by size,
// beginning and end. Files that cannot be read are left to whoever opens them.
std::vector<SharedSetting> run_settings(const Request& request, const Config& config,
                                        const RunPlan& plan);

}  // namespace weft
