// Costs of the cells of a V at the compute level.
#pragma once

#include <array>
#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"

namespace weft {

struct CellCosts {
  struct OfStage {
    double forward = 1;
    double dgrad = 1;
    double wgrad = 1;
    double backward = 2;  // dgrad and wgrad in one cell
  };
  std::vector<OfStage> stages;                              // [2P]
  std::vector<std::array<std::array<double, 2>, 2>> pairs;  // [P][forward chunk][backward chunk]
  double p2p = 0;

  // True if some pair takes less time than its forward and its backward one after the other.
  bool pairs_pay() const;
};

// As simulate() at the compute level takes them.
CellCosts compute_costs(int num_ranks, const Costs& costs);

// What the cells last once they are lowered to steps: each cell alone, its wires included.
CellCosts woven_costs(const Layout& layout, const Costs& costs, bool overlap);

}  // namespace weft
