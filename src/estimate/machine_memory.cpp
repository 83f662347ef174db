#include "estimate/machine_memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "config/derive.h"
#include "estimate/plan_estimate.h"
#include "estimate/units.h"

namespace weft {

std::int64_t machine_memory_bytes() {
  struct sysinfo info{};
  std::int64_t bytes = INT64_MAX;
  if (::sysinfo(&info) == 0) {
    bytes = static_cast<std::int64_t>(info.totalram + info.totalswap) * info.mem_unit;
  }
  // As a container sees its limit, versions 2 and 1; `max` is no number.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::int64_t limit = 0;
    if (std::ifstream(path) >> limit) bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::int64_t state_bytes(const Config& config, const RunPlan& plan, Rank only) {
  const ParameterCount count =
      count_rank(model_sizes(config), plan.layout, only, plan.mesh.ep_size);
  return memory_of(count, element_bytes(config.train.params_dtype), 0).total();
}

std::int64_t state_bytes(const Config& config, const RunPlan& plan) {
  std::int64_t bytes = 0;
  for (int rank = 0; rank < plan.mesh.pp_size; ++rank) {
    bytes += plan.mesh.dp_size * state_bytes(config, plan, Rank(rank));
  }
  return bytes;
}

void require_memory(std::int64_t needed_bytes, std::int64_t there_bytes) {
  if (needed_bytes <= there_bytes) return;
  throw UserError(Violation{
      "machine-memory", "weights, gradients and optimizer state of the ranks on this machine",
      "need " + print_bytes(needed_bytes) + ", it has " + print_bytes(there_bytes) +
          ": take a smaller model or more machines; `weft plan` shows what each rank needs"});
}

}  // namespace weft
