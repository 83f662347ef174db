// Bytes that leave a rank over each kind of wire.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "estimate/activation_bytes.h"
#include "estimate/parameter_count.h"
#include "layout/mesh.h"
#include "schedule/step.h"

namespace weft {

struct WireTraffic {
  std::int64_t wires = 0;  // started on this rank in one step
  std::int64_t bytes = 0;  // that leave it

  bool operator==(const WireTraffic&) const = default;
};

using RankTraffic = std::map<WireKind, WireTraffic>;

// One of the two exchanges of a sum over `num_ranks` ranks (comm/ordered_sum): padded to whole
// shares, (n - 1) / n of the elements leave each rank.
std::int64_t share_bytes(std::int64_t elements, int num_ranks, std::int64_t element_bytes);

// Per pipeline rank of the plan, of one data parallel rank; routing taken to be even, what a rank
// sends to itself left out. Receives are not listed. Dense gradients are summed over DP, experts'
// over DP / EP ranks.
std::vector<RankTraffic> count_traffic(const StepPlan& plan, const Layout& layout, const Mesh& mesh,
                                       const ModelSizes& sizes, const ActivationTable& table,
                                       const ElementBytes& element);

}  // namespace weft
