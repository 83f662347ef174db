// How long things last, in one unit: the cost model of the simulator and of weave.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "config/config.h"
#include "layout/layout.h"
#include "schedule/step.h"

namespace weft {

// Costs of one stage at the compute level. A full backward costs dgrad + wgrad.
struct StageCost {
  double forward = 1;
  double dgrad = 1;
  double wgrad = 1;

  bool operator==(const StageCost&) const = default;
};

// Costs of one segment at the steps level.
struct SegmentCost {
  double forward = 1;
  double dgrad = 1;
  double wgrad = 1;

  bool operator==(const SegmentCost&) const = default;
};

// Attention differs between dense and MoE layers (router, permutation), so segments are keyed by
// kind and by whether the layer is MoE.
struct SegmentKey {
  SegmentKind kind = SegmentKind::Attention;
  bool moe = false;

  auto operator<=>(const SegmentKey&) const = default;
};

struct Costs {
  std::string unit = "units";
  StageCost stage;                       // default for every stage
  std::map<int, StageCost> stages;       // by stage, overrides `stage`
  std::optional<double> pair;            // default: forward + dgrad + wgrad
  double p2p = 0;                        // a delay for the receiver; nobody is busy
  std::map<SegmentKey, SegmentCost> segments;
  std::map<WireKind, double> wires;      // duration once all participants have started it

  bool operator==(const Costs&) const = default;

  const StageCost& of_stage(Stage s) const;
  const SegmentCost& of_segment(SegmentKey key) const;
  double of_wire(WireKind kind) const;
};

// Default step-level costs from the model's sizes (FLOPs and bytes at round figures for one core or
// device): the same value on every rank, so that every rank weaves the same order.
Costs estimate_costs(const ModelConfig& model, const ParallelConfig& parallel);

// TOML form of measured or hand-written costs. Errors: UserError naming file, key, value.
Costs read_costs(const std::string& path);
std::string print_costs(const Costs& costs);

}  // namespace weft
