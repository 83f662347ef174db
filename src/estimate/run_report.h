// Everything that would happen in a run, as one plain value: what `weft plan` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/derive.h"
#include "config/script_summary.h"
#include "config/value_sources.h"
#include "estimate/bent_rules.h"
#include "estimate/flops.h"
#include "estimate/plan_estimate.h"
#include "estimate/traffic.h"

namespace weft {

// Groups of global ranks of one kind (comm/groups.h).
struct GroupReport {
  std::string name;
  int size = 0;                           // ranks in each
  std::vector<std::vector<int>> members;  // global ranks, ascending
  std::string purpose;                    // what travels in it
};

// Where activations peak.
struct PeakReport {
  std::string step;        // `0F5:experts.3`
  std::string cell;        // `(0F5;7B1)OVERLAP_F_B`
  double time = 0;         // predicted, from the start of the step
  int live_chunks = 0;     // activations held there
  int pending_wgrads = 0;  // cells' W's put off there
};

// One pipeline rank, of any data parallel and expert parallel index.
struct PlannedRank {
  int rank = 0;
  std::vector<int> stages;
  std::vector<std::string> texts;  // of the stages: `Ett`
  int dense_layers = 0, moe_layers = 0, noop_layers = 0, mtp_layers = 0;
  ParameterCount parameters;
  MemoryReport memory;
  PeakReport peak;
  RankTraffic traffic;
  RankMetrics times;
};

// Where the costs of a step are from, in words: the file, or an estimate at which rates.
std::string costs_text(const Config& config);

struct StepReport {
  std::string unit;
  std::string costs;  // where the costs are from
  double makespan = 0;
  std::optional<double> all_to_all_hidden_steady, all_to_all_hidden_outside;
  std::int64_t tokens = 0;                  // of the global batch
  std::optional<double> tokens_per_second;  // where the unit is a known one
};

struct ModelReport {
  std::string source;  // of --model; empty: from flags
  ModelSizes sizes;
  std::vector<LayerKind> layers;
  ParameterCount total, active;
  FlopsPerToken flops;
  std::vector<std::string> untrained;  // what `weft train` does not have
};

struct RunReport {
  ModelReport model;
  std::string schedule;
  Mesh mesh;
  BatchSizes batch;
  std::string params_dtype;
  std::vector<GroupReport> groups;
  std::vector<PlannedRank> ranks;
  std::int64_t tied_bytes = 0;  // that a rank sends at most where copies of the embedding lie apart
  StepReport step;
  std::optional<double> memory_gib;  // the limit that was given
  std::vector<BentRule> bent;        // rules of the original
  std::vector<ScriptFlags> script;   // what flags of a launch script mean here
  std::vector<std::string> notes;
  std::vector<ValueSource> values;
};

// Takes a request that has passed the rules. Throws UserError, PlanError as make_step_plan, and
// PlanError for a plan that is above the limits of the flags.
RunReport make_run_report(const Request& request, const RunFacts& facts);

// Of global ranks, as comm/groups.h makes them. Those that have a copy of the embedding
// (parameter_count.h) are tied.
std::vector<GroupReport> group_reports(const Mesh& mesh, const StageMap& map,
                                       const std::vector<int>& embedding_ranks);
// For a person, in lines of at most `width` columns, and for a program.
std::string report_text(const RunReport& report, int width = 100);
std::string report_json(const RunReport& report);

}  // namespace weft
