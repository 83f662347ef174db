// Which ways a search tries, and what each costs before its plan is lowered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "estimate/plan_estimate.h"
#include "estimate/search.h"

namespace weft {

// Of a step, where neither a global batch nor a number of micro-batches is given.
inline constexpr int kSequencesPerRank = 4;

// Every combination of what the request leaves open and the sizes allow.
std::vector<Trial> list_trials(const Request& request, const RunFacts& facts);

// The request's config with the trial's values, resolved.
Config config_of(const Trial& trial, const Request& request, const RunFacts& facts);

// A look at a trial that takes far less time than lowering its plan.
struct QuickLook {
  double makespan = 0;               // at the compute level, gradients summed at the end
  std::int64_t parameter_bytes = 0;  // of the rank that needs most
  std::int64_t bytes = 0;            // with the chunks alive, working memory left out
};

class QuickLooks {
 public:
  // `config` is a trial's. Throws UserError if its layout or schedule is refused.
  QuickLook look(const Config& config);

 private:
  using Key = std::tuple<std::string, int, int, int, bool, bool>;

  const Costs& step_costs_of(const Config& config);
  const Schedule& schedule_of(const Config& config, const Costs& costs);

  std::optional<Costs> read_;  // once for all trials, from --costs
  Costs costs_;
  std::map<Key, Schedule> schedules_;  // many trials differ in sizes only
};

}  // namespace weft
