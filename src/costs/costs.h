// How long things last, in one unit: the cost model of the simulator and of weave.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "costs/kept_bytes.h"
#include "costs/segment_key.h"
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
  LinkRate expert = {};         // exchange of tokens
  LinkRate pipeline = {};       // hand-overs
  LinkRate data = {};           // sums of gradients

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
  CostBytes bytes;  // empty: not known

  bool operator==(const Costs&) const = default;

  const StageCost& of_stage(Stage s) const;
  // At the compute level: of F, B, I, W or a pair.
  double of_cell(const Cell& cell) const;
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
                     const Rates& rates = {}, int micro_batch_size = 1, int element_bytes = 4,
                     const ModelExtras& extras = {});

// `costs` as read, with what its rates say of these sizes for all that it does not name. Throws
// UserError where it has rates and there are no sizes.
Costs with_sizes(Costs costs, const ModelConfig& model, const ParallelConfig& parallel,
                 int micro_batch_size, int element_bytes, const ModelExtras& extras = {});

// What a user should know who gives these costs to that layout: segments of it that a table of
// segments leaves without time, stages that it does not have. One sentence each.
std::vector<std::string> cost_gaps(const Costs& costs, const Layout& layout);

}  // namespace weft
