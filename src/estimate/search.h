// The best way to lay a run out over a number of ranks, found by trying.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/derive.h"
#include "config/request.h"

namespace weft {

// One way.
struct Trial {
  int pipeline_size = 1;
  int data_size = 1;
  int expert_size = 1;
  int micro_batch_size = 1;
  int num_micro_batches = 1;
  std::string schedule;
  int chunks = 1;  // per rank
  bool overlap = false;
  bool detach = false;

  double tokens = 0;     // of a step
  double estimated = 0;  // the step as a quick look has it (trials.h)
  // Of the lowered plan, if it was simulated.
  std::optional<double> makespan = {};
  double busy = 0, bubble = 0, exposed = 0;  // shares of all ranks' time
  std::int64_t bytes = 0;                    // of the rank that needs most
  bool within_limits = true;                 // of the flags

  // Per unit of time; from the estimate if the plan was not simulated.
  double rate() const { return tokens / makespan.value_or(estimated); }
};

// Ways that were thrown out for one reason.
struct ThrownOut {
  std::string reason;
  int count = 0;
  std::string example;  // the one that came closest

  bool operator==(const ThrownOut&) const = default;
};

struct SearchReport {
  int num_ranks = 0;
  std::optional<double> memory_gib;
  std::string batch;  // how the batch was fixed, in words
  std::string costs;  // where the costs are from
  std::string unit;   // of times
  int tried = 0;
  int simulated = 0;
  std::vector<Trial> best;           // those that fit, highest rate first
  std::vector<std::string> reasons;  // why the first is the first
  std::vector<ThrownOut> thrown_out;
};

struct SearchProgress {
  int looked_at = 0;
  int tried = 0;  // in all
  int simulated = 0;
  int most_simulated = 0;
};

// Tries every pipeline and expert parallel size, schedule, micro-batch size, overlap and detach
// that the request leaves open. Ways are ordered by a quick simulation at the compute level; from
// the fastest on they are lowered and simulated until none of the rest comes near the best. The
// global batch is as given, else 4 sequences a rank. `listen` is told how far it is after each look
// and each simulation. Throws UserError if no way can be tried.
SearchReport search_runs(const Request& request, const RunFacts& facts,
                         const std::function<void(const SearchProgress&)>& listen = {});

// The flags that ask for it.
std::string flags_of(const Trial& trial);

// For a person, in lines of at most `width` columns, and for a program.
std::string search_text(const SearchReport& report, int width = 100);
std::string search_json(const SearchReport& report);

}  // namespace weft
