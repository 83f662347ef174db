#include "search/cell_costs.h"

#include "passes/cell_durations.h"
#include "schedule/builders/words.h"

namespace weft {
namespace {

// Sums of the same terms in another order differ in the last bits.
constexpr double kNoticeable = 1 - 1e-9;

std::array<int, 2> stages_of(int rank, int num_ranks) { return {rank, 2 * num_ranks - 1 - rank}; }

}  // namespace

bool CellCosts::pairs_pay() const {
  const int num_ranks = static_cast<int>(pairs.size());
  for (int r = 0; r < num_ranks; ++r) {
    const auto stage = stages_of(r, num_ranks);
    for (int f = 0; f < 2; ++f) {
      for (int b = 0; b < 2; ++b) {
        const double apart = stages[stage[f]].forward + stages[stage[b]].backward;
        if (pairs[r][f][b] < apart * kNoticeable) return true;
      }
    }
  }
  return false;
}

CellCosts compute_costs(int num_ranks, const Costs& costs) {
  CellCosts cells;
  cells.p2p = costs.p2p;
  for (int s = 0; s < 2 * num_ranks; ++s) {
    const StageCost& stage = costs.of_stage(Stage(s));
    cells.stages.push_back({stage.forward, stage.dgrad, stage.wgrad, stage.dgrad + stage.wgrad});
  }
  for (int r = 0; r < num_ranks; ++r) {
    auto& of_rank = cells.pairs.emplace_back();
    const auto stage = stages_of(r, num_ranks);
    for (int f = 0; f < 2; ++f) {
      for (int b = 0; b < 2; ++b) {
        const CellCosts::OfStage& backward = cells.stages[stage[b]];
        // Added in simulate()'s order, so that equal orders get equal times to the bit.
        of_rank[f][b] =
            costs.pair.value_or(cells.stages[stage[f]].forward + backward.dgrad + backward.wgrad);
      }
    }
  }
  return cells;
}

CellCosts woven_costs(const Layout& layout, const Costs& costs, bool overlap) {
  const int num_ranks = layout.map.num_ranks;
  std::vector<Cell> asked;
  for (int s = 0; s < 2 * num_ranks; ++s) {
    const Stage stage(s);
    asked.insert(asked.end(),
                 {forward(stage, 0), dgrad(stage, 0), wgrad(stage, 0), backward(stage, 0)});
  }
  for (int r = 0; r < num_ranks; ++r) {
    for (const int f : stages_of(r, num_ranks)) {
      for (const int b : stages_of(r, num_ranks)) {
        asked.push_back(ActionPair{forward(Stage(f), 1), backward(Stage(b), 0)});
      }
    }
  }
  const std::vector<double> durations = cell_durations(asked, layout, costs, overlap);
  CellCosts cells;
  cells.p2p = costs.of_wire(WireKind::RecvForward);
  auto next = durations.begin();
  for (int s = 0; s < 2 * num_ranks; ++s, next += 4) {
    cells.stages.push_back({next[0], next[1], next[2], next[3]});
  }
  for (int r = 0; r < num_ranks; ++r, next += 4) {
    cells.pairs.push_back({{{next[0], next[1]}, {next[2], next[3]}}});
  }
  return cells;
}

}  // namespace weft
