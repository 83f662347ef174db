// What dW detach saves in bubble and adds in bytes, without and with recompute, by the simulator:
// DualPipeV at the compute level, M = 2P and 4P, two MoE layers a stage with the sizes of
// qwen3-30b-a3b (S 4096, micro-batch 1, BF16, EP 8). Prints one table; times are in forwards of a
// stage. Costs are estimate_costs() at 600 TFLOPS; no embedding, head, wires or hand-over times, a
// pair as long as its parts.
//
// Recompute is full, layer by layer: F leaves of each layer its input alone; B or I runs the
// layer's forward again, so dgrad costs a forward more, and one layer at a time is held whole. What
// a W keeps does not change: its input and its output's gradient.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "config/derive.h"
#include "config/model_source.h"
#include "estimate/model_bytes.h"
#include "estimate/plan_estimate.h"
#include "passes/live.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

constexpr int kLayers = 2;  // of a stage
// Round figures for a large GPU.
constexpr Rates kRates{.tflops = 600, .memory_gb_per_s = 2500, .overhead_us = 20};
constexpr double kMiB = 1024.0 * 1024.0;

Config model_config() {
  std::vector<Violation> violations;
  Request request = read_request(
      Verb::Plan,
      {"--model", "qwen3-30b-a3b", "--seq-length", "4096", "--micro-batch-size", "1",
       "--num-microbatches", "1", "--bf16", "--expert-model-parallel-size", "8"},
      {}, violations);
  take_model(request, violations);
  if (!violations.empty()) throw UserError(violations);
  return resolved(request.config, {});
}

struct Layer {
  StageCost cost{0, 0, 0};
  KeptBytes bytes;
  std::int64_t input = 0;
};

Layer make_layer(const Config& config) {
  Layer layer;
  const Costs costs = estimate_costs(config.model, config.parallel, kRates, 1, 2);
  for (const SegmentKey key : {SegmentKey{SegmentKind::Attention, true},
                               SegmentKey{SegmentKind::Experts, true},
                               SegmentKey{SegmentKind::Merge, true}}) {
    const SegmentCost& cost = costs.of_segment(key);
    layer.cost.forward += cost.forward;
    layer.cost.dgrad += cost.dgrad;
    layer.cost.wgrad += cost.wgrad;
  }
  // A layer between two others.
  Layout layout;
  layout.map = {.num_ranks = 3};
  layout.layer_kinds.assign(3, LayerKind::Moe);
  for (const int l : {0, 1, 2}) layout.stages.emplace_back().decoder_layers = {l};
  const ActivationTable table = model_table(config, layout);
  layer.bytes = model_stage_bytes(layout, table).at(1);
  layer.input = table.hidden;
  return layer;
}

StageCost stage_cost(const Layer& layer, bool recompute) {
  return {kLayers * layer.cost.forward,
          kLayers * (layer.cost.dgrad + (recompute ? layer.cost.forward : 0)),
          kLayers * layer.cost.wgrad};
}

KeptBytes stage_bytes(const Layer& layer, bool recompute) {
  const KeptBytes& of_layer = layer.bytes;
  const std::int64_t left = recompute ? layer.input : of_layer.activation;
  const std::int64_t again = recompute ? of_layer.forward : 0;
  KeptBytes stage{.activation = kLayers * left, .wgrad = kLayers * of_layer.wgrad};
  // While one of the layers runs: those before it as F left them, it whole, and behind an I the W's
  // of those after it.
  for (int l = 0; l < kLayers; ++l) {
    const std::int64_t held = l * left + of_layer.activation - stage.activation;
    stage.forward = std::max(stage.forward, held + of_layer.forward);
    stage.backward = std::max(stage.backward, held + std::max(again, of_layer.backward));
    stage.dgrad = std::max(stage.dgrad, held + std::max(again, of_layer.dgrad) +
                                            (kLayers - 1 - l) * of_layer.wgrad);
  }
  return stage;
}

struct Found {
  double makespan = 0;
  double bubble = 0;  // of the worst rank
  int pending_wgrads = 0;
  std::vector<std::int64_t> peaks;  // [rank]

  std::int64_t peak() const { return *std::ranges::max_element(peaks); }
};

Found run(int num_ranks, int num_micro_batches, bool detach, const StageCost& cost,
          const KeptBytes& bytes) {
  const Schedule schedule = build_schedule("dualpipev", {.num_ranks = num_ranks,
                                                         .chunks_per_rank = 2,
                                                         .num_micro_batches = num_micro_batches,
                                                         .detach = detach});
  Costs costs;
  costs.stage = cost;
  const TimelineMetrics metrics = measure(simulate(schedule, costs));
  Found found;
  found.makespan = metrics.makespan;
  for (const RankMetrics& rank : metrics.ranks) found.bubble = std::max(found.bubble, rank.bubble);
  const std::vector<KeptBytes> stages(static_cast<std::size_t>(schedule.map.num_stages()), bytes);
  for (const std::vector<Held>& rank : held_by_cell(schedule, stages)) {
    std::int64_t& peak = found.peaks.emplace_back();
    for (const Held& held : rank) {
      peak = std::max({peak, held.bytes, held.bytes_after});
      found.pending_wgrads = std::max(found.pending_wgrads, held.pending_wgrads);
    }
  }
  return found;
}

// The most that detaching adds to any rank's peak.
std::int64_t added(const Found& off, const Found& on) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r < off.peaks.size(); ++r) {
    most = std::max(most, on.peaks[r] - off.peaks[r]);
  }
  return most;
}

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.0f}", static_cast<double>(bytes) / kMiB);
}

// False if a number is not the one of docs/dualpipev.md: from M = 2P on the two steps are 2(P-1)W
// apart.
bool print_row(int num_ranks, int num_micro_batches, const Layer& layer, bool recompute) {
  const StageCost cost = stage_cost(layer, recompute);
  const KeptBytes bytes = stage_bytes(layer, recompute);
  const Found off = run(num_ranks, num_micro_batches, false, cost, bytes);
  const Found on = run(num_ranks, num_micro_batches, true, cost, bytes);
  const double saved = off.makespan - on.makespan;
  const auto in_forwards = [&](double time) { return fmt::format("{:.1f}", time / cost.forward); };
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} ({:.1f} %) | {} to {} | {} | {} | {} | {} |"
             "\n",
             num_ranks, num_micro_batches, recompute ? "on" : "off", in_forwards(off.makespan),
             in_forwards(on.makespan), in_forwards(off.bubble), in_forwards(on.bubble),
             in_forwards(saved), 100 * saved / off.makespan, off.pending_wgrads, on.pending_wgrads,
             mib(off.peak()), mib(on.peak()), mib(added(off, on)),
             mib(static_cast<std::int64_t>(static_cast<double>(added(off, on)) * cost.forward /
                                           saved)));
  return std::abs(saved - 2 * (num_ranks - 1) * cost.wgrad) < 1e-9 * off.makespan;
}

int print_table() {
  const Layer layer = make_layer(model_config());
  for (const bool recompute : {false, true}) {
    const StageCost cost = stage_cost(layer, recompute);
    const KeptBytes bytes = stage_bytes(layer, recompute);
    fmt::print(
        "recompute {}: F 1, I {:.2f}, W {:.2f}; a chunk keeps {} MiB, a pending W {} MiB, F, B and "
        "I work on {}, {} and {} MiB more\n",
        recompute ? "on" : "off", cost.dgrad / cost.forward, cost.wgrad / cost.forward,
        mib(bytes.activation), mib(bytes.wgrad), mib(bytes.forward), mib(bytes.backward),
        mib(bytes.dgrad));
  }
  fmt::print(
      "\n| P | M | recompute | step off | on | bubble off | on | saved | pending W's | peak off, "
      "MiB | on | added to any rank | a forward saved |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bool right = true;
  for (const int num_ranks : {4, 8, 16}) {
    for (const int rounds : {2, 4}) {
      for (const bool recompute : {false, true}) {
        right &= print_row(num_ranks, rounds * num_ranks, layer, recompute);
      }
    }
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main() { return weft::print_table(); }
