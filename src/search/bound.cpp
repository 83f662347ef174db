#include "search/bound.h"

#include <algorithm>

namespace weft {
namespace {

// The least that a rank's ops last, in whatever cell.
struct Least {
  std::array<double, 2> forward{}, dgrad{};
  double work = 0;   // of one micro-batch
  double chain = 0;  // the part of it that no weight gradient belongs to
  double saved = 0;  // by a pair, of the work
  double saved_chain = 0;
  double wgrad0 = 0;  // what follows the last input gradient of chunk 0
};

Least least_of(const SearchProblem& problem, int rank) {
  const auto cost = [&](Op op) { return problem.cost_of(rank, op); };
  Least least;
  for (int c = 0; c < 2; ++c) least.forward[c] = cost(forward_op(c));
  for (int b = 0; b < 2; ++b) {
    const double whole = std::min(cost(backward_op(b)), cost(dgrad_op(b)) + cost(wgrad_op(b)));
    const double alone = std::min(cost(backward_op(b)), cost(dgrad_op(b)));
    if (b == 0) least.wgrad0 = whole - alone;
    least.dgrad[b] = alone;
    least.work += cost(forward_op(b)) + whole;
    least.chain += cost(forward_op(b)) + alone;
    for (int f = 0; f < 2 && problem.pairs; ++f) {
      const double pair = cost(pair_op(f, b));
      least.saved = std::max(least.saved, cost(forward_op(f)) + whole - pair);
      least.saved_chain = std::max(least.saved_chain, cost(forward_op(f)) + alone - pair);
      least.dgrad[b] = std::min(least.dgrad[b], pair);
      least.forward[f] = std::min(least.forward[f], pair);
    }
  }
  return least;
}

}  // namespace

double lower_bound(const SearchProblem& problem) {
  const double micro_batches = problem.num_micro_batches;
  std::vector<Least> least;
  for (int r = 0; r < problem.num_ranks; ++r) least.push_back(least_of(problem, r));
  // The way of micro-batch 0 to the last stage; its forwards are ahead of all backwards, so in no
  // pair.
  double through = 0;
  for (int r = 0; r < problem.num_ranks; ++r) {
    through += problem.cost_of(r, Op::F0) + problem.cost_of(r, Op::F1);
  }
  through += 2 * (problem.num_ranks - 1) * problem.p2p;
  // From the start of a forward to the end of its input gradient, both chunks of a rank together.
  std::vector<double> lives(problem.num_ranks);
  double life = 0;
  for (int r = 0; r < problem.num_ranks; ++r) {
    life += least[r].forward[1] + least[r].dgrad[1];
    lives[r] += life;
    life += 2 * problem.p2p;
  }
  life -= 2 * problem.p2p;
  for (int r = problem.num_ranks - 1; r >= 0; --r) {
    life += least[r].forward[0] + least[r].dgrad[0];
    lives[r] += life;
    life += 2 * problem.p2p;
  }
  double bound = 0;
  double head = 0;                // until the first forward is here
  double first = through;         // until the first input gradient can be here
  double tail = least[0].wgrad0;  // behind this rank's last input gradient
  for (int r = 0; r < problem.num_ranks; ++r) {
    const Least& l = least[r];
    const double pairs = 2 * (micro_batches - 1);
    bound = std::max(bound, head + micro_batches * l.work - pairs * l.saved);
    bound = std::max(bound, head + micro_batches * l.chain - pairs * l.saved_chain + tail);
    bound = std::max(bound, head + micro_batches * lives[r] / problem.max_live_chunks + tail);
    // Before the first input gradient there are forwards only, as many as there is time and memory
    // for, and these are in no pair.
    const double longest = std::max(problem.cost_of(r, Op::F0), problem.cost_of(r, Op::F1));
    const double forwards = std::min<double>(2 * micro_batches, problem.max_live_chunks);
    const double done = std::min(first - head, forwards * longest);
    const double gained = longest > 0 ? std::max(0.0, 1 - l.saved / longest) * done : 0;
    bound = std::max(bound, first + micro_batches * (l.work - 2 * l.saved) - gained);
    head += problem.cost_of(r, Op::F0) + problem.p2p;
    first += l.dgrad[1] + problem.p2p;
    tail += l.dgrad[0] + problem.p2p;
  }
  return bound;
}

}  // namespace weft
