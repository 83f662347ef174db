#include "search/draft.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

class Drafting {
 public:
  Drafting(const SearchProblem& problem, const Policy& policy)
      : problem_(problem),
        policy_(policy),
        micro_batches_(problem.num_micro_batches),
        ranks_(problem.num_ranks),
        forward_end_(static_cast<std::size_t>(problem.num_stages()) * micro_batches_, kUnknown),
        dgrad_end_(forward_end_) {
    double period = 0;
    for (int r = 0; r < problem.num_ranks; ++r) {
      double work = 0;
      for (const Op op : {Op::F0, Op::F1, Op::I0, Op::I1, Op::W0, Op::W1}) {
        work += problem.cost_of(r, op);
      }
      period = std::max(period, work);
      ranks_[r].word.reserve(6 * static_cast<std::size_t>(micro_batches_));
    }
    admission_gap_ = policy.admission * period;
  }

  Draft run() {
    for (int r = 0; r < problem_.num_ranks; ++r) wake(0, r);
    double makespan = 0;
    while (!events_.empty()) {
      const auto [time, rank] = events_.top();
      events_.pop();
      RankState& state = ranks_[rank];
      if (state.free > time || done(state)) continue;
      const std::optional<Op> op = choose(rank, time);
      if (!op) continue;
      start(rank, *op, time);
      makespan = std::max(makespan, state.free);
    }
    Draft draft{{}, makespan};
    for (RankState& state : ranks_) {
      weft_assert(done(state), "one free place leads every micro-batch through");
      draft.words.push_back(std::move(state.word));
    }
    return draft;
  }

 private:
  struct RankState {
    double free = 0;
    int live = 0;
    std::array<int, 2> forwards{}, dgrads{}, wgrads{};
    std::vector<std::uint8_t> pending;  // chunks of all input gradients so far, in order
    std::size_t next_pending = 0;
    Word word;

    int num_pending() const { return static_cast<int>(pending.size() - next_pending); }
  };
  using Event = std::pair<double, int>;

  bool done(const RankState& state) const {
    return state.wgrads[0] == micro_batches_ && state.wgrads[1] == micro_batches_;
  }

  void wake(double time, int rank) { events_.emplace(time, rank); }

  double hand_over(int from_stage, int to_stage) const {
    const bool fold = from_stage + to_stage == problem_.num_stages() - 1;
    return fold ? 0 : problem_.p2p;
  }

  // Places that have to be free for a forward. Chunk 0 leaves one for a chunk 1, without which no
  // micro-batch gets through, unless one that has been there is still to give back its own.
  static int needs_free(const RankState& state, int chunk) {
    return chunk == 0 && state.forwards[1] == state.dgrads[0] ? 2 : 1;
  }

  // When the next forward of the chunk could start, kUnknown if that is not known or not allowed.
  double forward_ready(int rank, int chunk) const {
    const RankState& state = ranks_[rank];
    const int m = state.forwards[chunk];
    if (m == micro_batches_) return kUnknown;
    if (state.live + needs_free(state, chunk) > problem_.max_live_chunks) return kUnknown;
    const int stage = problem_.stage_of(rank, chunk);
    if (stage == 0) return m * admission_gap_;
    return forward_end_[(stage - 1) * micro_batches_ + m] + hand_over(stage - 1, stage);
  }

  double dgrad_ready(int rank, int chunk) const {
    const RankState& state = ranks_[rank];
    const int m = state.dgrads[chunk];
    if (m >= state.forwards[chunk]) return kUnknown;
    const int stage = problem_.stage_of(rank, chunk);
    if (stage + 1 == problem_.num_stages()) return 0;
    return dgrad_end_[(stage + 1) * micro_batches_ + m] + hand_over(stage + 1, stage);
  }

  std::optional<Op> choose(int rank, double now) {
    RankState& state = ranks_[rank];
    const bool has_wgrad = state.num_pending() > 0;
    const std::array<double, 2> forward{forward_ready(rank, 0), forward_ready(rank, 1)};
    const std::array<double, 2> dgrad{dgrad_ready(rank, 0), dgrad_ready(rank, 1)};
    double next = kUnknown;  // when something that is not there yet will be
    if (policy_.pairs) {
      const PairChoice pair = choose_pair(rank, now, forward, dgrad);
      if (pair.ready <= now) return pair.op;
      next = pair.ready;
    }
    const bool waits_for_pair = next < kUnknown;
    if (has_wgrad && state.num_pending() >= policy_.max_pending) return oldest_wgrad(state);
    struct Candidate {
      Op op;
      double ready;
      bool is_forward;
    };
    const std::array<Candidate, 2> dgrads{{{Op::I1, dgrad[1], false}, {Op::I0, dgrad[0], false}}};
    const std::array<Candidate, 2> forwards{
        {{Op::F1, forward[1], true}, {Op::F0, forward[0], true}}};
    const auto& first = policy_.forwards_first ? forwards : dgrads;
    const auto& second = policy_.forwards_first ? dgrads : forwards;
    double next_dgrad = kUnknown;
    for (const auto* group : {&first, &second}) {
      for (const Candidate& candidate : *group) {
        if (waits_for_pair) continue;
        if (candidate.ready > now) {
          next = std::min(next, candidate.ready);
          if (!candidate.is_forward) next_dgrad = std::min(next_dgrad, candidate.ready);
          continue;
        }
        const double cost = problem_.cost_of(rank, candidate.op);
        if (candidate.op == Op::F0 && state.live > 0 &&
            state.live + needs_free(state, 0) + policy_.spare > problem_.max_live_chunks) {
          continue;
        }
        if (candidate.is_forward && now + cost > next_dgrad + policy_.forward_intrusion * cost) {
          continue;
        }
        return candidate.op;
      }
    }
    if (has_wgrad) {
      const Op op = oldest_wgrad(state);
      const double cost = problem_.cost_of(rank, op);
      if (now + cost <= next + policy_.wgrad_intrusion * cost) return op;
    }
    if (next < kUnknown) wake(next, rank);
    return std::nullopt;
  }

  struct PairChoice {
    std::optional<Op> op;
    double ready = kUnknown;
  };

  // The pair to run next; one whose ready time lies ahead is worth waiting for.
  PairChoice choose_pair(int rank, double now, const std::array<double, 2>& forward,
                         const std::array<double, 2>& dgrad) const {
    const RankState& state = ranks_[rank];
    PairChoice best;
    double least = kUnknown;
    for (const int b : {1, 0}) {
      for (const int f : {1, 0}) {
        const Op op = pair_op(f, b);
        const double cost = problem_.cost_of(rank, op);
        const double ready = std::max({forward[f], dgrad[b], now});
        if (ready - now > policy_.patience * cost || state.dgrads[b] > state.wgrads[b]) continue;
        const double saved =
            problem_.cost_of(rank, forward_op(f)) + problem_.cost_of(rank, backward_op(b)) - cost;
        const double score = ready - now - saved + (f == b ? 1e-3 * cost : 0);
        if (saved < 0 || score >= least) continue;
        least = score;
        best = {op, ready};
      }
    }
    return best;
  }

  static Op oldest_wgrad(const RankState& state) {
    return wgrad_op(state.pending[state.next_pending]);
  }

  void start(int rank, Op op, double now) {
    RankState& state = ranks_[rank];
    const OpParts& parts = parts_of(op);
    state.free = now + problem_.cost_of(rank, op);
    state.word.push_back(op);
    if (parts.forward >= 0) {
      const int stage = problem_.stage_of(rank, parts.forward);
      ++state.live;
      forward_end_[stage * micro_batches_ + state.forwards[parts.forward]++] = state.free;
      if (stage + 1 < problem_.num_stages()) {
        wake(state.free + hand_over(stage, stage + 1), rank_of(stage + 1));
      }
    }
    if (parts.dgrad >= 0) {
      const int stage = problem_.stage_of(rank, parts.dgrad);
      --state.live;
      dgrad_end_[stage * micro_batches_ + state.dgrads[parts.dgrad]++] = state.free;
      if (parts.wgrad < 0) state.pending.push_back(static_cast<std::uint8_t>(parts.dgrad));
      if (stage > 0) wake(state.free + hand_over(stage, stage - 1), rank_of(stage - 1));
    }
    if (parts.wgrad >= 0) {
      ++state.wgrads[parts.wgrad];
      if (parts.dgrad < 0) ++state.next_pending;
    }
    wake(state.free, rank);
  }

  int rank_of(int stage) const {
    return stage < problem_.num_ranks ? stage : problem_.num_stages() - 1 - stage;
  }

  const SearchProblem& problem_;
  const Policy& policy_;
  const int micro_batches_;
  std::vector<RankState> ranks_;
  std::vector<double> forward_end_, dgrad_end_;  // [stage, micro-batch], kUnknown until started
  double admission_gap_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Draft draft(const SearchProblem& problem, const Policy& policy) {
  return Drafting(problem, policy).run();
}

}  // namespace weft
