#include "search/clock.h"

#include <algorithm>

namespace weft {

Clock::Clock(const SearchProblem& problem)
    : problem_(problem),
      ranks_(problem.num_ranks),
      forward_(static_cast<std::size_t>(problem.num_stages()) * problem.num_micro_batches),
      dgrad_(forward_.size()),
      num_forward_(problem.num_stages()),
      num_dgrad_(problem.num_stages()) {}

double Clock::run(const Words& words) {
  std::fill(num_forward_.begin(), num_forward_.end(), 0);
  std::fill(num_dgrad_.begin(), num_dgrad_.end(), 0);
  queue_.clear();
  for (int r = problem_.num_ranks - 1; r >= 0; --r) {
    RankState& state = ranks_[r];
    state.next = state.live = 0;
    state.free = 0;
    state.forwards = state.dgrads = state.wgrads = {};
    state.start.resize(words[r].size());
    state.end.resize(words[r].size());
    state.queued = true;
    queue_.push_back(r);
  }
  double makespan = 0;
  int ended = 0;
  while (!queue_.empty()) {
    const int rank = queue_.back();
    queue_.pop_back();
    RankState& state = ranks_[rank];
    const Word& word = words[rank];
    const int size = static_cast<int>(word.size());
    const int before = state.next;
    while (state.next < size) {
      const Step step = run_next(rank, word[state.next]);
      if (step == Step::Broken) return kNever;
      if (step == Step::Waits) break;
    }
    state.queued = false;
    if (state.next == before && size > 0) continue;
    if (rank > 0) wake(rank - 1);
    if (rank + 1 < problem_.num_ranks) wake(rank + 1);
    if (state.next < size) continue;
    ++ended;
    makespan = std::max(makespan, state.free);
  }
  return ended == problem_.num_ranks ? makespan : kNever;
}

void Clock::wake(int rank) {
  RankState& state = ranks_[rank];
  if (state.queued || state.next == static_cast<int>(state.start.size())) return;
  state.queued = true;
  queue_.push_back(rank);
}

Clock::Step Clock::run_next(int rank, Op op) {
  RankState& state = ranks_[rank];
  const OpParts& parts = parts_of(op);
  const int micro_batches = problem_.num_micro_batches;
  double start = state.free;
  int forward = -1;
  int dgrad = -1;
  if (const int c = parts.forward; c >= 0) {
    const int stage = problem_.stage_of(rank, c);
    const int m = state.forwards[c];
    if (state.live == problem_.max_live_chunks) return Step::Broken;
    forward = stage * micro_batches + m;
    if (stage > 0) {
      if (num_forward_[stage - 1] <= m) return Step::Waits;
      const double delay = stage == problem_.num_ranks ? 0 : problem_.p2p;
      start = std::max(start, forward_[forward - micro_batches].time + delay);
    }
  }
  if (const int c = parts.dgrad; c >= 0) {
    const int stage = problem_.stage_of(rank, c);
    const int m = state.dgrads[c];
    if (state.forwards[c] <= m) return Step::Broken;
    dgrad = stage * micro_batches + m;
    if (stage + 1 < problem_.num_stages()) {
      if (num_dgrad_[stage + 1] <= m) return Step::Waits;
      const double delay = stage + 1 == problem_.num_ranks ? 0 : problem_.p2p;
      start = std::max(start, dgrad_[dgrad + micro_batches].time + delay);
    }
  }
  if (const int c = parts.wgrad; c >= 0) {
    // In one with its input gradient it must be the next too: rising order.
    const int pending = state.dgrads[c] - state.wgrads[c];
    if (parts.dgrad < 0 ? pending == 0 : pending > 0) return Step::Broken;
    ++state.wgrads[c];
  }
  const double end = start + problem_.cost_of(rank, op);
  if (forward >= 0) {
    ++state.forwards[parts.forward];
    ++num_forward_[problem_.stage_of(rank, parts.forward)];
    ++state.live;
    forward_[forward] = {end, state.next};
  }
  if (dgrad >= 0) {
    ++state.dgrads[parts.dgrad];
    ++num_dgrad_[problem_.stage_of(rank, parts.dgrad)];
    --state.live;
    dgrad_[dgrad] = {end, state.next};
  }
  state.start[state.next] = start;
  state.end[state.next] = end;
  state.free = end;
  ++state.next;
  return Step::Ran;
}

void Clock::critical_path(const Words& words, std::vector<Place>& path) const {
  path.clear();
  Place at;
  for (int r = 0; r < problem_.num_ranks; ++r) {
    if (ranks_[r].free > ranks_[at.rank].free) at.rank = r;
  }
  at.index = static_cast<int>(words[at.rank].size()) - 1;
  // Micro-batches of the ops at the place, counted down as the path goes back; a path changes ranks
  // seldom, so they are counted afresh there.
  while (at.index >= 0) {
    path.push_back(at);
    const RankState& state = ranks_[at.rank];
    const double start = state.start[at.index];
    if (start <= 0) return;
    if (at.index > 0 && state.end[at.index - 1] == start) {
      --at.index;
      continue;
    }
    const OpParts& parts = parts_of(words[at.rank][at.index]);
    int forwards = 0;
    int dgrads = 0;
    for (int i = 0; i < at.index; ++i) {
      const OpParts& p = parts_of(words[at.rank][i]);
      forwards += parts.forward >= 0 && p.forward == parts.forward;
      dgrads += parts.dgrad >= 0 && p.dgrad == parts.dgrad;
    }
    Place from{-1, 0};
    double latest = -1;
    const auto consider = [&](int stage, const Done& done, bool local) {
      const double time = done.time + (local ? 0 : problem_.p2p);
      if (time <= latest) return;
      latest = time;
      from = {stage < problem_.num_ranks ? stage : problem_.num_stages() - 1 - stage, done.index};
    };
    const int micro_batches = problem_.num_micro_batches;
    if (parts.forward >= 0) {
      const int stage = problem_.stage_of(at.rank, parts.forward);
      if (stage > 0) {
        consider(stage - 1, forward_[(stage - 1) * micro_batches + forwards],
                 stage == problem_.num_ranks);
      }
    }
    if (parts.dgrad >= 0) {
      const int stage = problem_.stage_of(at.rank, parts.dgrad);
      if (stage + 1 < problem_.num_stages()) {
        consider(stage + 1, dgrad_[(stage + 1) * micro_batches + dgrads],
                 stage + 1 == problem_.num_ranks);
      }
    }
    if (from.rank < 0) return;
    at = from;
  }
}

}  // namespace weft
