// When the ops of given words would run: simulate()'s compute level on dense arrays, some fifty
// times as fast, since a search asks it thousands of times.
#pragma once

#include <limits>
#include <vector>

#include "search/problem.h"

namespace weft {

class Clock {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  explicit Clock(const SearchProblem& problem);

  // The makespan; kNever if the words wait in a circle, break an order within a stage or hold more
  // than max_live_chunks. Every word has to have all its ops.
  double run(const Words& words);

  // Of the last run that ended.
  const std::vector<double>& starts(int rank) const { return ranks_[rank].start; }
  const std::vector<double>& ends(int rank) const { return ranks_[rank].end; }

  struct Place {
    int rank = 0;
    int index = 0;
  };
  // The ops of one longest path, from the makespan back to time 0.
  void critical_path(const Words& words, std::vector<Place>& path) const;

 private:
  struct RankState {
    int next = 0;
    int live = 0;
    double free = 0;
    bool queued = false;
    std::array<int, 2> forwards{}, dgrads{}, wgrads{};
    std::vector<double> start, end;
  };
  struct Done {
    double time = 0;
    int index = 0;
  };

  enum class Step { Ran, Waits, Broken };
  Step run_next(int rank, Op op);
  void wake(int rank);

  const SearchProblem& problem_;
  std::vector<RankState> ranks_;
  std::vector<Done> forward_, dgrad_;         // [stage, micro-batch]
  std::vector<int> num_forward_, num_dgrad_;  // [stage] done
  std::vector<int> queue_;
};

}  // namespace weft
