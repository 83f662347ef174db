// How long things last, in one unit: the cost model of the simulator and of weave.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

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

// The key with `moe` as the kind fixes it: only Attention is in both sorts of layers.
SegmentKey normalised(SegmentKey key);
SegmentKey key_of(const Layout& layout, const Segment& segment);

struct Costs {
  std::string unit = "units";
  StageCost stage;                  // default for every stage
  std::map<int, StageCost> stages;  // by stage, overrides `stage`
  std::optional<double> pair;       // default: forward + dgrad + wgrad
  double p2p = 0;                   // a delay for the receiver; nobody is busy
  std::map<SegmentKey, SegmentCost> segments;
  std::map<WireKind, double> wires;  // duration once all participants have started it

  bool operator==(const Costs&) const = default;

  const StageCost& of_stage(Stage s) const;
  // An empty `segments` stands for the table of default_costs(); a segment that a non-empty one
  // does not name takes no time.
  const SegmentCost& of_segment(SegmentKey key) const;
  // An empty `wires` stands for the table of default_costs(). In a non-empty one a wire that is not
  // named takes as long as its mirror (backward for forward, receive for send, combine for
  // dispatch, gathering for reducing), a hand-over without one `p2p`, anything else no time.
  double of_wire(WireKind kind) const;
};

// Step-level costs where no sizes are known: round figures in units in which the attention of a
// layer takes 1 forward, and an all-to-all half of that.
const Costs& default_costs();

// Step-level costs in ms from the model's sizes: FLOPs, bytes through memory and bytes on the wire
// at round rates for one core (estimate.cpp). The same value on every rank, so that every rank
// weaves the same order. default_costs() if hidden_size or seq_length is 0.
Costs estimate_costs(const ModelConfig& model, const ParallelConfig& parallel,
                     int micro_batch_size = 1);

// TOML form of measured or hand-written costs; `print_costs` writes what `parse_costs` reads back
// bit for bit. Errors: UserError naming the file (`source`), key and value.
//
//   unit = "ms"                    # what the numbers are in
//   p2p = 0.0
//   pair = 3.0
//   stage = { forward = 1.0, dgrad = 1.0, wgrad = 1.0 }
//   [stages]
//   7 = { forward = 1.5, dgrad = 1.5, wgrad = 1.0 }
//   [segments]
//   moe_attention = { forward = 4.1, dgrad = 4.3, wgrad = 2.2 }
//   [wires]
//   dispatch = 3.2
Costs read_costs(const std::string& path);
Costs parse_costs(std::string_view text, const std::string& source);
std::string print_costs(const Costs& costs);

// The name of a segment in the TOML form: segment_name() of schedule/text.h, and `moe_attention`.
// Wires have their wire_name().
std::string name_of(SegmentKey key);

}  // namespace weft
