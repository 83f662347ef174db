#include "search/search_words.h"

#include <algorithm>

#include "search/bound.h"
#include "search/finish.h"
#include "search/improve.h"

namespace weft {
namespace {

// In ops: a draft takes some 200 ns for one, a change of an order some 40.
constexpr double kDraftWork = 1.5e6;
constexpr double kImproveWork = 2.4e7;
constexpr double kFinishWork = 6e6;
constexpr int kLeastDrafts = 12;
constexpr std::size_t kStarts = 3;  // drafts that are improved

// Policies without pairs, or with pairs alone, roughly in the order of how often one is the best.
std::vector<Policy> policies(const SearchProblem& problem, bool pairs) {
  const int ranks = problem.num_ranks;
  std::vector<Policy> list;
  for (const int max_pending : {2 * ranks, ranks, ranks / 2 + 1}) {
    for (const double admission : {0.0, 0.33, 0.17, 0.5, 0.83}) {
      for (const bool forwards_first : {false, true}) {
        for (const double wgrad_intrusion : {0.99, 0.34, 0.51, 0.0}) {
          for (const double forward_intrusion : {2.0, 0.5}) {
            Policy policy{.forwards_first = forwards_first,
                          .admission = admission,
                          .max_pending = max_pending,
                          .wgrad_intrusion = wgrad_intrusion,
                          .forward_intrusion = forward_intrusion};
            if (!pairs) {
              list.push_back(policy);
              continue;
            }
            const bool rare = admission > 0.4 || forward_intrusion < 1 || wgrad_intrusion == 0.0;
            if (rare) continue;
            policy.pairs = true;
            for (const double patience : {0.0, 0.34, 0.67}) {
              for (const int spare : {0, 1}) {
                policy.patience = patience;
                policy.spare = spare;
                list.push_back(policy);
              }
            }
          }
        }
      }
    }
  }
  return list;
}

class Search {
 public:
  explicit Search(const SearchProblem& problem)
      : problem_(problem),
        // Sums of equal terms in another order differ in the last bits.
        bound_(lower_bound(problem) * (1 + 1e-12)),
        num_ops_(12.0 * problem.num_ranks * problem.num_micro_batches / 2) {}

  std::vector<Draft> run(std::vector<Draft> incumbents) {
    std::vector<Draft> starts;
    if (const auto* best = best_of(incumbents)) starts.push_back(*best);
    for (const bool pairs : {false, true}) {
      if (pairs && !problem_.pairs) continue;
      starts.push_back(best_draft(pairs));
    }
    if (problem_.pairs) starts.push_back(weave_pairs(problem_, *best_of(starts), tries()));
    sort(starts);
    if (starts.size() > kStarts) starts.resize(kStarts);
    const int steps = static_cast<int>(kImproveWork / num_ops_ / (kStarts + 1));
    std::vector<Draft> found;
    for (const Draft& start : starts) {
      found.push_back(improve(problem_, start, bound_, steps, found.size()));
      if (found.back().makespan <= bound_) break;
    }
    sort(found);
    found.front() = improve(problem_, found.front(), bound_, steps, kStarts);
    for (Draft& draft : found) draft = finished(std::move(draft));
    // Kept as they came: at the steps level it may be these that are better.
    found.insert(found.end(), starts.begin(), starts.end());
    sort(found);
    return found;
  }

 private:
  static const Draft* best_of(const std::vector<Draft>& drafts) {
    const auto least =
        std::min_element(drafts.begin(), drafts.end(),
                         [](const Draft& a, const Draft& b) { return a.makespan < b.makespan; });
    return least == drafts.end() ? nullptr : &*least;
  }
  static void sort(std::vector<Draft>& drafts) {
    std::stable_sort(drafts.begin(), drafts.end(),
                     [](const Draft& a, const Draft& b) { return a.makespan < b.makespan; });
  }
  int tries() const { return static_cast<int>(kFinishWork / num_ops_) + 1; }

  Draft best_draft(bool pairs) const {
    const int most = std::max(kLeastDrafts, static_cast<int>(kDraftWork / num_ops_));
    int made = 0;
    Draft best{{}, -1};
    Policy best_policy;
    for (const Policy& policy : policies(problem_, pairs)) {
      if (made++ >= most || (best.makespan >= 0 && best.makespan <= bound_)) break;
      Draft next = draft(problem_, policy);
      if (best.makespan >= 0 && next.makespan >= best.makespan) continue;
      best = std::move(next);
      best_policy = policy;
    }
    return with_less_pending(std::move(best), best_policy);
  }

  // Of orders that end equally early the one that puts off fewer weight gradients: each keeps
  // memory.
  Draft with_less_pending(Draft best, Policy policy) const {
    const int most = policy.max_pending;
    for (policy.max_pending = 1; policy.max_pending < most; policy.max_pending *= 2) {
      Draft next = draft(problem_, policy);
      if (next.makespan <= best.makespan) return next;
    }
    return best;
  }

  Draft finished(Draft draft) const {
    if (problem_.pairs) draft = weave_pairs(problem_, std::move(draft), tries());
    return join_backwards(problem_, std::move(draft), tries());
  }

  const SearchProblem& problem_;
  const double bound_;
  const double num_ops_;
};

}  // namespace

std::vector<Draft> search_words(const SearchProblem& problem, std::vector<Draft> incumbents) {
  return Search(problem).run(std::move(incumbents));
}

}  // namespace weft
