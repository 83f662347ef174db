#include "search/improve.h"

#include <algorithm>
#include <cmath>

#include "search/clock.h"

namespace weft {
namespace {

class Improvement {
 public:
  Improvement(const SearchProblem& problem, Draft draft, double bound, std::uint64_t seed)
      : problem_(problem),
        clock_(problem),
        bound_(bound),
        random_(seed),
        best_(draft),
        words_(std::move(draft.words)) {
    for (int r = 0; r < problem.num_ranks; ++r) {
      double work = 0;
      for (const Op op : {Op::F0, Op::F1, Op::B0, Op::B1}) work += problem.cost_of(r, op);
      period_ = std::max(period_, work);
    }
  }

  Draft run(int steps) {
    score_ = score(clock_.run(words_));
    clock_.critical_path(words_, path_);
    for (int step = 0; step < steps && best_.makespan > bound_; ++step) {
      const double heat = 1 - static_cast<double>(step) / steps;
      try_change(kHottest * period_ * heat * heat);
    }
    return std::move(best_);
  }

 private:
  // What a change may cost, in parts of a micro-batch's time on a rank, at the beginning.
  static constexpr double kHottest = 0.04;
  static constexpr int kReach = 14;  // places that an op is moved at most
  // Ranks that end early have room for what comes next, so their ends count a little.
  static constexpr double kEndsWeight = 1e-2;

  std::uint64_t random_bits() {  // splitmix64
    std::uint64_t z = (random_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(random_bits() % static_cast<std::uint64_t>(n)); }

  double score(double makespan) const {
    if (makespan == Clock::kNever) return makespan;
    double ends = 0;
    for (int r = 0; r < problem_.num_ranks; ++r) ends += clock_.ends(r).back();
    return makespan + kEndsWeight * ends / problem_.num_ranks;
  }

  void try_change(double tolerance) {
    const Clock::Place place = path_[below(static_cast<int>(path_.size()))];
    Word& word = words_[place.rank];
    saved_ = word;
    if (!change(word, place.index)) {
      return;
    }
    const double makespan = clock_.run(words_);
    const double now = score(makespan);
    const double allowed = tolerance * static_cast<double>(random_bits() >> 11) * 0x1p-53;
    if (now == Clock::kNever || now > score_ + allowed) {
      word = saved_;
      return;
    }
    score_ = now;
    clock_.critical_path(words_, path_);
    if (makespan < best_.makespan) best_ = {words_, makespan};
  }

  // False if nothing has changed.
  bool change(Word& word, int index) {
    const int size = static_cast<int>(word.size());
    const Op op = word[index];
    const OpParts& parts = parts_of(op);
    if (parts.dgrad >= 0 && parts.wgrad >= 0 && below(3) == 0) return split(word, index);
    if (problem_.pairs && parts.forward >= 0 && parts.dgrad < 0 && below(3) == 0) {
      return weave_with_neighbour(word, index);
    }
    // Near or far, either way; or what stands behind or ahead comes here.
    const int distance = 1 + below(below(3) == 0 ? kReach : 3);
    const int other = below(2) == 0 ? index - distance : index + distance;
    if (other < 0 || other >= size) return false;
    const auto at = [&word](int i) { return word.begin() + i; };
    const int low = std::min(index, other);
    const int high = std::max(index, other);
    if (std::equal(at(low), at(high), at(low + 1))) return false;  // all alike
    if (below(2) == 0) {
      std::rotate(at(low), at(low + 1), at(high + 1));
    } else {
      std::rotate(at(low), at(high), at(high + 1));
    }
    return true;
  }

  bool split(Word& word, int index) {
    const OpParts& parts = parts_of(word[index]);
    const int b = parts.dgrad;
    if (parts.forward < 0) {
      word[index] = dgrad_op(b);
      word.insert(word.begin() + index + 1, wgrad_op(b));
      return true;
    }
    const Op f = forward_op(parts.forward);
    word[index] = backward_op(b);
    word.insert(word.begin() + index + below(2), f);
    return true;
  }

  // A forward and a backward close by become a pair in the place of one of them.
  bool weave_with_neighbour(Word& word, int index) {
    const int f = parts_of(word[index]).forward;
    const int size = static_cast<int>(word.size());
    for (int distance = 1; distance <= 4; ++distance) {
      for (const int other : {index - distance, index + distance}) {
        if (other < 0 || other >= size) continue;
        const OpParts& parts = parts_of(word[other]);
        if (parts.forward >= 0 || parts.dgrad < 0) continue;
        const int b = parts.dgrad;
        if (parts.wgrad < 0) {
          // Its weight gradient has to be the next of its chunk.
          const auto wgrad = std::find(word.begin() + other, word.end(), wgrad_op(b));
          if (wgrad == word.end()) continue;
          const bool here = below(2) == 0;
          word[here ? index : other] = pair_op(f, b);
          const auto gone = word.begin() + (here ? other : index);
          word.erase(std::max(gone, wgrad));  // the later one first: the other stays in place
          word.erase(std::min(gone, wgrad));
          return true;
        }
        const bool here = below(2) == 0;
        word[here ? index : other] = pair_op(f, b);
        word.erase(word.begin() + (here ? other : index));
        return true;
      }
    }
    return false;
  }

  const SearchProblem& problem_;
  Clock clock_;
  double bound_;
  std::uint64_t random_;
  Draft best_;
  Words words_;
  Word saved_;
  std::vector<Clock::Place> path_;
  double score_ = 0;
  double period_ = 0;
};

}  // namespace

Draft improve(const SearchProblem& problem, Draft draft, double bound, int steps,
              std::uint64_t seed) {
  if (draft.makespan <= bound) return draft;
  return Improvement(problem, std::move(draft), bound, seed).run(steps);
}

}  // namespace weft
