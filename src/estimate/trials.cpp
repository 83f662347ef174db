#include "estimate/trials.h"

#include <algorithm>
#include <utility>

#include "costs/costs_toml.h"
#include "layout/make_layout.h"
#include "passes/chains.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"

namespace weft {
namespace {

constexpr int kMaxMicroBatchSize = 8;
constexpr int kMaxChunks = 4;  // of interleaved

// The divisors of `value`, ascending.
std::vector<int> divisors(int value) {
  std::vector<int> result;
  for (int divisor = 1; divisor <= value; ++divisor) {
    if (value % divisor == 0) result.push_back(divisor);
  }
  return result;
}

// How a schedule can be asked for.
struct Way {
  std::string schedule;
  int chunks = 1;
  bool overlap = false;
  bool detach = false;
};

bool allowed(const Request& request, std::string_view flag, bool value, bool given) {
  return !request.given(flag) || value == given;
}

std::vector<Way> list_ways(const Request& request, int num_ranks, int num_layers, bool moe) {
  const ScheduleConfig& asked = request.config.schedule;
  std::vector<Way> ways;
  for (const ScheduleEntry& entry : schedule_table()) {
    const std::string name(entry.name);
    if (entry.build == nullptr || name == "auto") continue;
    if ((name == "no-pipeline") != (num_ranks == 1)) continue;
    if (request.given("schedules-method") && name != asked.schedules_method) continue;
    for (int chunks = name == "interleaved" ? 2 : 1; chunks <= kMaxChunks; chunks *= 2) {
      const auto wanted = asked.num_virtual_stages_per_pipeline_rank;
      if (name != "interleaved" && chunks > 1) break;
      if (name == "interleaved" &&
          (chunks * num_ranks > num_layers || (wanted && chunks != *wanted))) {
        continue;
      }
      for (const bool overlap : {false, true}) {
        if (overlap && !(entry.has_pairs && moe)) continue;
        if (!allowed(request, "moe-fb-overlap", overlap, asked.moe_fb_overlap)) continue;
        for (const bool detach : {false, true}) {
          if (detach && name != "dualpipev") continue;
          if (!allowed(request, "dualpipev-dw-detach", detach, asked.dualpipev_dw_detach)) continue;
          ways.push_back({name, chunks, overlap, detach});
        }
      }
    }
  }
  return ways;
}

// Measured costs hold for one micro-batch size; rates of a device for any.
bool costs_are_measured(const Config& config) {
  const std::string& file = config.train.costs;
  return !file.empty() && !read_costs(file).rates;
}

// Micro-batch sizes and their numbers.
std::vector<std::pair<int, int>> list_batches(const Request& request, bool one_size,
                                              int global_batch, int dp) {
  const ScheduleConfig& asked = request.config.schedule;
  std::vector<std::pair<int, int>> batches;
  for (int size = 1; size <= std::max(kMaxMicroBatchSize, asked.micro_batch_size.value_or(1));
       ++size) {
    if (request.given("micro-batch-size") ? size != *asked.micro_batch_size
                                          : (size & (size - 1)) != 0) {
      continue;
    }
    if (one_size && !request.given("micro-batch-size") && size > 1) continue;
    if (asked.num_microbatches) {
      batches.emplace_back(size, *asked.num_microbatches);
    } else if (global_batch % (size * dp) == 0) {
      batches.emplace_back(size, global_batch / (size * dp));
    }
  }
  return batches;
}

double all_to_all(const Costs& costs, bool backward) {
  return backward
             ? costs.of_wire(WireKind::CombineBackward) + costs.of_wire(WireKind::DispatchBackward)
             : costs.of_wire(WireKind::Counts) + costs.of_wire(WireKind::Dispatch) +
                   costs.of_wire(WireKind::Combine);
}

// Costs at the compute level: a stage's segments one after the other, each wire waited for. A pair
// hides its wires as far as it has compute for them; stages are taken to be alike there.
Costs compute_costs(const Layout& layout, const Costs& costs, bool overlap) {
  Costs result;
  double compute = 0, wires = 0;
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    StageCost sum{0, 0, 0};
    double forward_wires = 0, backward_wires = 0;
    for (const Segment& segment : stage_segments(layout, Stage(s))) {
      const SegmentCost& cost = costs.of_segment(key_of(layout, segment));
      sum.forward += cost.forward;
      sum.dgrad += cost.dgrad;
      sum.wgrad += cost.wgrad;
      if (segment.kind != SegmentKind::Experts) continue;
      forward_wires += all_to_all(costs, false);
      backward_wires += all_to_all(costs, true);
    }
    compute += sum.forward + sum.dgrad + sum.wgrad;
    wires += std::max(forward_wires, backward_wires);
    sum.forward += forward_wires;
    sum.dgrad += backward_wires;
    result.stages[s] = sum;
  }
  if (overlap) result.pair = std::max(compute, wires) / layout.map.num_stages();
  return result;
}

// The sums of a rank's gradients one after the other, of the rank that has most.
double reduction_time(const Layout& layout, const Costs& costs) {
  std::vector<std::size_t> buckets(static_cast<std::size_t>(layout.map.num_ranks));
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    buckets[static_cast<std::size_t>(layout.map.rank_of(Stage(s)).value)] +=
        gradient_buckets(layout, Stage(s)).size();
  }
  return static_cast<double>(*std::ranges::max_element(buckets)) *
         (costs.of_wire(WireKind::ReduceGrad) + costs.of_wire(WireKind::GatherGrad));
}

// What a chunk of the stage keeps alive, and what its put-off W's do.
struct ChunkBytes {
  std::int64_t alive = 0;
  std::int64_t pending = 0;
};

ChunkBytes chunk_bytes(const Layout& layout, Stage stage, const ActivationTable& table) {
  ChunkBytes bytes;
  for (const Segment& segment : stage_segments(layout, stage)) {
    const SegmentBytes& of_segment = table.segments.at(key_of(layout, segment));
    bytes.alive += of_segment.forward;
    bytes.pending -= of_segment.wgrad;
  }
  return bytes;
}

// The most that a rank's chunks hold at once.
std::int64_t peak_of(const std::vector<Cell>& cells, const std::vector<ChunkBytes>& stages) {
  std::int64_t held = 0, peak = 0;
  const auto run = [&](const Action& action) {
    const ChunkBytes& bytes = stages[static_cast<std::size_t>(action.stage.value)];
    if (action.kind == ActionKind::Forward) held += bytes.alive;
    if (action.kind == ActionKind::Backward) held -= bytes.alive;
    if (action.kind == ActionKind::Dgrad) held += bytes.pending - bytes.alive;
    if (action.kind == ActionKind::Wgrad) held -= bytes.pending;
    peak = std::max(peak, held);
  };
  for (const Cell& cell : cells) {
    if (const auto* pair = std::get_if<ActionPair>(&cell)) {
      run(pair->backward);
      run(pair->forward);
    } else {
      run(std::get<Action>(cell));
    }
  }
  return peak;
}

}  // namespace

std::vector<Trial> list_trials(const Request& request, const RunFacts& /*facts*/) {
  const Config& config = request.config;
  const int num_ranks = *config.launch.local_ranks / config.parallel.tensor_model_parallel_size;
  const int num_layers = *config.model.num_layers;
  const int experts = config.model.num_experts;
  const int global_batch =
      config.schedule.global_batch_size.value_or(kSequencesPerRank * num_ranks);
  const bool one_size = costs_are_measured(config);
  std::vector<Trial> trials;
  for (const int pp : divisors(num_ranks)) {
    if (request.given("pipeline-model-parallel-size")
            ? pp != config.parallel.pipeline_model_parallel_size
            : pp > num_layers) {
      continue;
    }
    const int dp = num_ranks / pp;
    for (const auto& [size, number] : list_batches(request, one_size, global_batch, dp)) {
      for (const Way& way : list_ways(request, pp, num_layers, experts > 0)) {
        for (const int ep : divisors(experts > 0 ? dp : 1)) {
          const bool given = request.given("expert-model-parallel-size");
          if (given ? ep != config.parallel.expert_model_parallel_size
                    : (ep > 1 && experts % ep != 0)) {
            continue;
          }
          trials.push_back(
              {.pipeline_size = pp,
               .data_size = dp,
               .expert_size = ep,
               .micro_batch_size = size,
               .num_micro_batches = number,
               .schedule = way.schedule,
               .chunks = way.chunks,
               .overlap = way.overlap,
               .detach = way.detach,
               .tokens = static_cast<double>(size) * number * dp * config.model.seq_length});
        }
      }
    }
  }
  return trials;
}

Config config_of(const Trial& trial, const Request& request, const RunFacts& facts) {
  Config config = request.config;
  config.plan.search = false;
  config.parallel.pipeline_model_parallel_size = trial.pipeline_size;
  config.parallel.expert_model_parallel_size = trial.expert_size;
  ScheduleConfig& schedule = config.schedule;
  schedule.schedules_method = trial.schedule;
  schedule.micro_batch_size = trial.micro_batch_size;
  schedule.num_microbatches = trial.num_micro_batches;
  schedule.global_batch_size.reset();
  schedule.moe_fb_overlap = trial.overlap;
  schedule.dualpipev_dw_detach = trial.detach;
  if (trial.schedule == "interleaved") {
    schedule.num_virtual_stages_per_pipeline_rank = trial.chunks;
  }
  return resolved(config, facts);
}

const Costs& QuickLooks::step_costs_of(const Config& config) {
  const std::string& file = config.train.costs;
  if (!file.empty() && !read_) read_ = read_costs(file);
  costs_ = read_ ? sized_costs(config, *read_) : step_costs(config);
  return costs_;
}

const Schedule& QuickLooks::schedule_of(const Config& config, const Costs& costs) {
  const ScheduleConfig& asked = config.schedule;
  const Key key{asked.schedules_method,
                config.parallel.pipeline_model_parallel_size,
                asked.num_virtual_stages_per_pipeline_rank.value_or(1),
                *asked.num_microbatches,
                asked.moe_fb_overlap,
                asked.dualpipev_dw_detach};
  const auto found = schedules_.find(key);
  return found != schedules_.end()
             ? found->second
             : schedules_.emplace(key, make_schedule(config, costs)).first->second;
}

QuickLook QuickLooks::look(const Config& config) {
  const Costs& wires = step_costs_of(config);
  const Schedule& schedule = schedule_of(config, wires);
  const Layout layout = make_layout(config, schedule.map);
  const ModelSizes sizes = model_sizes(config);
  const ElementBytes element = element_bytes(config.train.params_dtype);
  const int expert_ranks = config.parallel.expert_model_parallel_size;
  const int micro_batch_size = *config.schedule.micro_batch_size;
  const ActivationTable table = activation_table(
      sizes, std::int64_t{micro_batch_size} * sizes.sequence, element, expert_ranks);
  std::vector<std::int64_t> parameters;
  for (int r = 0; r < schedule.map.num_ranks; ++r) {
    parameters.push_back(
        memory_of(count_rank(sizes, layout, Rank(r), expert_ranks), element, 0).total());
  }
  std::vector<ChunkBytes> chunks;
  for (int s = 0; s < schedule.map.num_stages(); ++s) {
    chunks.push_back(chunk_bytes(layout, Stage(s), table));
  }
  QuickLook look;
  for (std::size_t r = 0; r < parameters.size(); ++r) {
    look.parameter_bytes = std::max(look.parameter_bytes, parameters[r]);
    look.bytes = std::max(look.bytes, parameters[r] + peak_of(schedule.ranks[r], chunks));
  }
  const Costs costs = compute_costs(layout, wires, config.schedule.moe_fb_overlap);
  look.makespan = simulate(schedule, costs).ranks.front().end;
  if (!config.schedule.overlap_grad_reduce) look.makespan += reduction_time(layout, wires);
  return look;
}

}  // namespace weft
