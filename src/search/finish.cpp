#include "search/finish.h"

#include <algorithm>

#include "search/clock.h"

namespace weft {
namespace {

constexpr int kReach = 4;  // cells between a forward and the backward that it is woven with

// The forward at `f` and the backward at `b` become one pair, in the place of `at`; false if they
// make none.
bool weave(Word& word, int f, int b, int at) {
  const OpParts& forward = parts_of(word[f]);
  const OpParts& backward = parts_of(word[b]);
  if (forward.forward < 0 || forward.dgrad >= 0) return false;
  if (backward.dgrad < 0 || backward.forward >= 0) return false;
  std::vector<int> gone{f == at ? b : f};
  if (backward.wgrad < 0) {
    const auto wgrad = std::find(word.begin() + b, word.end(), wgrad_op(backward.dgrad));
    if (wgrad == word.end()) return false;
    gone.push_back(static_cast<int>(wgrad - word.begin()));
  }
  word[at] = pair_op(forward.forward, backward.dgrad);
  std::sort(gone.rbegin(), gone.rend());
  for (const int index : gone) word.erase(word.begin() + index);
  return true;
}

// Keeps the change of one word if the whole ends no later.
bool keep(Clock& clock, Draft& draft, Word& word, const Word& before) {
  const double makespan = clock.run(draft.words);
  if (makespan <= draft.makespan) {
    draft.makespan = makespan;
    return true;
  }
  word = before;
  return false;
}

}  // namespace

Draft weave_pairs(const SearchProblem& problem, Draft draft, int tries) {
  Clock clock(problem);
  for (Word& word : draft.words) {
    for (int f = 0; f < static_cast<int>(word.size()); ++f) {
      bool woven = false;
      for (int distance = 1; distance <= kReach && !woven; ++distance) {
        for (const int b : {f - distance, f + distance}) {
          for (const int at : {f, b}) {
            if (woven || b < 0 || b >= static_cast<int>(word.size())) continue;
            const Word before = word;
            if (!weave(word, f, b, at)) continue;
            if (tries-- <= 0) {
              word = before;
              return draft;
            }
            woven = keep(clock, draft, word, before);
          }
        }
      }
    }
  }
  return draft;
}

Draft join_backwards(const SearchProblem& problem, Draft draft, int tries) {
  Clock clock(problem);
  for (Word& word : draft.words) {
    for (int i = 0; i + 1 < static_cast<int>(word.size()); ++i) {
      const int b = parts_of(word[i]).dgrad;
      if (b < 0 || word[i] != dgrad_op(b) || word[i + 1] != wgrad_op(b)) continue;
      if (tries-- <= 0) return draft;
      const Word before = word;
      word[i] = backward_op(b);
      word.erase(word.begin() + i + 1);
      keep(clock, draft, word, before);
    }
  }
  return draft;
}

}  // namespace weft
