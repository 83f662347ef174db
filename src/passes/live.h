// What a rank holds of micro-batches under way: chunks, pending W's and bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

struct LiveCounts {
  int peak_live_chunks = 0;    // F start to end of B, or of I where split
  int max_pending_wgrads = 0;  // I done, W not done

  bool operator==(const LiveCounts&) const = default;
};

// Per rank, in list order (independent of costs, since a rank runs one cell at a time).
std::vector<LiveCounts> count_live(const Schedule& schedule);

// What one micro-batch keeps of one stage.
struct StageBytes {
  std::int64_t activation = 0;  // from the start of its F to the end of its B, or of its I
  std::int64_t wgrad = 0;       // from the end of its I to the end of its W

  bool operator==(const StageBytes&) const = default;
};

// What a rank holds around one cell.
struct Held {
  int live_chunks = 0;     // while it runs
  int pending_wgrads = 0;  // when it has ended
  std::int64_t bytes = 0;  // the larger of while it runs and when it has ended

  bool operator==(const Held&) const = default;
};

// [rank][cell]; `bytes` by stage, or empty: nothing is counted. Compute level.
std::vector<std::vector<Held>> held_by_cell(const Schedule& schedule,
                                            const std::vector<StageBytes>& bytes);

}  // namespace weft
