// Values that follow from those that were given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace weft {

// What the schedule in the file of --schedules-method FILE.csv is made for.
struct ScheduleFileFacts {
  int num_ranks = 1;
  int chunks_per_rank = 1;
  bool is_v = false;
  int num_micro_batches = 1;
  bool has_pairs = false;
};

// What the flags alone do not say about a run.
struct RunFacts {
  std::optional<int> layout_stages = {};  // stages in --pipeline-model-parallel-layout
  bool layout_has_mtp = false;            // it has an MTP layer
  std::optional<int> world_size = {};     // ranks, where a launcher has started them
  std::optional<ScheduleFileFacts> schedule_file = {};  // set if the schedule is in a file
  std::vector<Finding> schedule_file_findings = {};     // why it cannot run
};

// True for FILE.csv.
bool is_schedule_file(std::string_view method);
// True for a schedule whose stages lie on the ranks as a V: two chunks a rank.
bool is_v_schedule(std::string_view method);
// True for a schedule with just one chunk a rank.
bool has_one_chunk(std::string_view method);
// True for a schedule that has pairs of a forward and a backward of different micro-batches; of a
// file, that it may have them.
bool has_pairs(std::string_view method);
// True if the schedule, in a file or not, lies on the ranks as a V, or --placement says so.
bool lies_as_v(const Config& config, const RunFacts& facts);

// Chunks per rank: as the schedule's file has them, 2 under a V, else from the layout string, the
// virtual pipeline flags (in this order), 2 under `interleaved`, else 1. Rounded down where sizes
// do not divide (rules.h refuses).
int chunks_per_rank(const Config& config, const RunFacts& facts);

// --schedules-method, else no-pipeline if P = 1, interleaved with several chunks a rank, else 1f1b.
std::string schedule_method(const Config& config, const RunFacts& facts);

// Ranks / (P * TP) if the ranks are known (launcher, else --local-ranks), else as given, else what
// expert parallelism needs.
int data_parallel_size(const Config& config, const RunFacts& facts);

// M: as given, else global batch / (micro-batch * DP); empty if neither can be had.
std::optional<int> num_micro_batches(const Config& config, const RunFacts& facts);

// As given, else global batch / (M * DP), else 1.
int micro_batch_size(const Config& config, const RunFacts& facts);

// `dualpipev, --moe-fb-overlap, P = 4, M = 10`, of a resolved config.
std::string schedule_title(const Config& config);

// The sizes that the model leaves to others: feed-forward and expert widths, query groups, size of
// a head. Those that follow from a size that is missing stay 0.
ModelConfig with_derived_sizes(ModelConfig model);

// The config with all of the above and the model's derived sizes filled in: nothing that is left
// empty has a default. Expects a config that passed the rules.
Config resolved(const Config& config, const RunFacts& facts);

struct ElementBytes {
  std::int64_t compute = 4;
  std::int64_t main = 4;  // main weights, main gradients, optimizer state
};

// Of --params-dtype.
ElementBytes element_bytes(const std::string& params_dtype);

}  // namespace weft
