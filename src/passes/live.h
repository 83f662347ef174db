// What a rank holds of micro-batches under way: chunks, pending W's and bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

struct LiveCounts {
  int peak_live_chunks = 0;    // F start to end of B, or of I where split
  int max_pending_wgrads = 0;  // I done, W not done

  bool operator==(const LiveCounts&) const = default;
};

// Per rank, in list order (independent of costs, since a rank runs one cell at a time).
std::vector<LiveCounts> count_live(const Schedule& schedule);

// What a rank holds around one entry of its list, a cell or a step.
struct Held {
  int live_chunks = 0;           // while it runs
  int pending_wgrads = 0;        // when it has ended
  std::int64_t bytes = 0;        // while it runs
  std::int64_t bytes_after = 0;  // when it has ended

  bool operator==(const Held&) const = default;
};

// [rank][entry]
using PlanHeld = std::vector<std::vector<Held>>;

// By stage: as given for it, else for all, else the sum of its segments. Empty if `bytes` is.
// Throws UserError if a sum is above kMaxKeptBytes.
std::vector<KeptBytes> stage_bytes(const CostBytes& bytes, const Layout& layout);

// Compute and transfers level; a transfer changes nothing. `bytes` by stage, or empty: not counted.
PlanHeld held_by_cell(const Schedule& schedule, const std::vector<KeptBytes>& bytes);

// Steps level. A chunk is live from its first forward to its last dgrad (where it has none, to its
// last wgrad); its W's are pending from the end of its I to its last wgrad. Bytes are held segment
// by segment, where `bytes` names segments (its `backward` and what it does not name are nothing);
// else stage by stage, while a stage's F, or B or I, is under way with what `forward`, `backward`
// and `dgrad` add.
PlanHeld held_by_step(const StepPlan& plan, const CostBytes& bytes);

}  // namespace weft
