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

// A kind of link, as one rank sees it in one direction. GB are 1e9 bytes.
struct LinkRate {
  double gb_per_s = 0.1;
  double latency_us = 200;

  bool operator==(const LinkRate&) const = default;
};

// What turns sizes of a model into times. By default round figures for one core and a modest
// network.
struct Rates {
  double tflops = 0.1;          // 1e12 operations a second of matrix products
  double memory_gb_per_s = 10;  // element-wise work
  double overhead_us = 50;      // of a segment that runs any operation
  LinkRate expert;              // exchange of tokens
  LinkRate pipeline;            // hand-overs
  LinkRate data;                // sums of gradients

  bool operator==(const Rates&) const = default;
};

struct Costs {
  std::string unit = "units";
  StageCost stage;                  // default for every stage
  std::map<int, StageCost> stages;  // by stage, overrides `stage`
  std::optional<double> pair;       // default: forward + dgrad + wgrad
  double p2p = 0;                   // a delay for the receiver; nobody is busy
  std::map<SegmentKey, SegmentCost> segments;
  std::map<WireKind, double> wires;  // duration once all participants have started it
  // Of a file with [device] or [links]: with_sizes() makes segments and wires of them.
  std::optional<Rates> rates;

  bool operator==(const Costs&) const = default;

  const StageCost& of_stage(Stage s) const;
  // An empty `segments` stands for the table of default_costs(). Of what a non-empty one does not
  // name, mtp_head takes as long as head, anything else no time.
  const SegmentCost& of_segment(SegmentKey key) const;
  // An empty `wires` stands for the table of default_costs(). In a non-empty one a wire that is not
  // named takes as long as its mirror (backward for forward, receive for send, combine for
  // dispatch, gathering for reducing), a hand-over without one `p2p`, anything else no time. A
  // hand-over of n hidden states takes n times as long (hidden_states_behind).
  double of_wire(WireKind kind) const;
};

// Step-level costs where no sizes are known: round figures in units in which the attention of a
// layer takes 1 forward, and an all-to-all half of that.
const Costs& default_costs();

// Step-level costs in ms from the model's sizes: FLOPs, bytes through memory and bytes on the wire
// at `rates`. The same value on every rank, so that every rank weaves the same order. Elements are
// those of --params-dtype. default_costs() if hidden_size or seq_length is 0.
Costs estimate_costs(const ModelConfig& model, const ParallelConfig& parallel,
                     const Rates& rates = {}, int micro_batch_size = 1, int element_bytes = 4);

// `costs` as read, with what its rates say of these sizes for all that it does not name. Throws
// UserError where it has rates and there are no sizes.
Costs with_sizes(Costs costs, const ModelConfig& model, const ParallelConfig& parallel,
                 int micro_batch_size, int element_bytes);

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
//   [device]                       # instead of [segments]; in ms
//   tflops = 600
//   memory_gb_per_s = 2500
//   overhead_us = 20
//   [links]                        # for what [wires] does not name; also `pipeline`, `data`
//   expert = { gb_per_s = 40, latency_us = 20 }
Costs read_costs(const std::string& path);
Costs parse_costs(std::string_view text, const std::string& source);
std::string print_costs(const Costs& costs);

// The name of a segment in the TOML form: segment_name() of schedule/text.h, and `moe_attention`.
// Wires have their wire_name().
std::string name_of(SegmentKey key);

}  // namespace weft
