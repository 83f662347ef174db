// The steps level: what one rank's compute lane executes, in order.
#pragma once

#include <compare>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "layout/layout.h"
#include "schedule/action.h"

namespace weft {

// Parts of a stage between two wires. A MoE layer is Attention, SharedExpert (if there is one),
// Experts, Merge; a dense layer is Attention, Mlp; a noop layer has none. A layer of multi-token
// prediction (MTP; arXiv 2412.19437, section 2.2) is MtpProjection and a decoder layer; its MtpHead
// is where the Head is, whatever stage has the layer.
//   Attention      norm, attention, residual; in a MoE layer also norm, router, permutation
//   Mlp            norm, dense feed-forward, residual
//   SharedExpert   runs beside the dispatch wire
//   Experts        sort by expert, grouped GEMMs, unsort
//   Merge          unpermute, weight by router probability, add shared expert and residual
//   Head           final norm, output head, loss
//   MtpProjection  the hidden state and the embedding of a later token, each normed, joined and
//                  projected [T, 2H] -> [T, H]
//   MtpHead        norm of the layer's own, the model's output head, loss of the layer's own
//   Identity       the whole of a stage that holds nothing else (no layer, or noop layers only)
enum class SegmentKind {
  Embedding,
  Attention,
  Mlp,
  SharedExpert,
  Experts,
  Merge,
  Head,
  MtpProjection,
  MtpHead,
  Identity,
};

// What a segment's backward has: a RunDgrad, RunWgrads.
constexpr bool has_dgrad(SegmentKind kind) { return kind != SegmentKind::Embedding; }
constexpr bool has_wgrad(SegmentKind kind) {
  return kind != SegmentKind::Merge && kind != SegmentKind::Identity;
}

constexpr bool is_head(SegmentKind kind) {
  return kind == SegmentKind::Head || kind == SegmentKind::MtpHead;
}

// `layer` is the decoder layer, of MTP layer k the number of decoder layers + k; -1 for Embedding,
// Head and Identity.
struct Segment {
  SegmentKind kind = SegmentKind::Attention;
  Stage stage;
  int layer = -1;
  MicroBatch micro_batch;

  auto operator<=>(const Segment&) const = default;
};

// Counts is the exchange of token counts that Dispatch needs; it starts when routing is done.
// The four all-to-alls run over the expert parallel group. Send and Recv are the two ends of the
// hand-over between neighbouring stages on different ranks; `stage` is the end's own stage. It is
// one message of all hidden states that the stage hands on (layout.h), or their gradients.
// ReduceGrad leaves each data parallel replica with the sum of its share of a bucket, GatherGrad
// gives the shares to all: together the gradients of a bucket are summed.
enum class WireKind {
  Counts,
  Dispatch,
  Combine,
  CombineBackward,
  DispatchBackward,
  SendForward,
  RecvForward,
  SendBackward,
  RecvBackward,
  ReduceGrad,
  GatherGrad,
};

// Dispatch, combine and their backwards; Counts is not one of them.
constexpr bool is_all_to_all(WireKind kind) {
  return kind == WireKind::Dispatch || kind == WireKind::Combine ||
         kind == WireKind::CombineBackward || kind == WireKind::DispatchBackward;
}

constexpr bool is_gradient_wire(WireKind kind) {
  return kind == WireKind::ReduceGrad || kind == WireKind::GatherGrad;
}

constexpr bool is_hand_over(WireKind kind) {
  return kind >= WireKind::SendForward && kind <= WireKind::RecvBackward;
}

// `layer` is -1 for Send and Recv. A gradient wire has micro-batch 0; its bucket is what the stage
// holds of the layer, with -1 its embedding, final norm and head. An MTP layer's use of embedding
// and head has gradients of its own, in the layer's bucket: one for each place of a shared weight,
// so that no schedule can change the order in which they are summed.
struct Wire {
  WireKind kind = WireKind::Dispatch;
  Stage stage;
  int layer = -1;
  MicroBatch micro_batch;

  auto operator<=>(const Wire&) const = default;
};

// The edge of a hand-over: s joins stages s and s + 1.
constexpr int edge_of(const Wire& wire) {
  const bool at_first = wire.kind == WireKind::SendForward || wire.kind == WireKind::RecvBackward;
  return at_first ? wire.stage.value : wire.stage.value - 1;
}

// A bucket of gradients: stage and layer of its wires.
using Bucket = std::pair<Stage, int>;

struct RunForward {
  Segment segment;
  auto operator<=>(const RunForward&) const = default;
};
struct RunDgrad {
  Segment segment;
  auto operator<=>(const RunDgrad&) const = default;
};
// Drains the weight-gradient store of one segment: its W's are pending from its RunDgrad on, of
// Embedding, which has none, once the gradient of its output is there.
struct RunWgrad {
  Segment segment;
  auto operator<=>(const RunWgrad&) const = default;
};
// Never blocks.
struct StartWire {
  Wire wire;
  auto operator<=>(const StartWire&) const = default;
};
// Blocks the compute lane until the wire is complete here.
struct WaitWire {
  Wire wire;
  auto operator<=>(const WaitWire&) const = default;
};
// Gives back the storage of the wire's source, which no one reads any more. After its WaitWire.
struct Release {
  Wire wire;
  auto operator<=>(const Release&) const = default;
};

using Step = std::variant<RunForward, RunDgrad, RunWgrad, StartWire, WaitWire, Release>;

// Each step has one of the two; null: the other one.
const Segment* segment_of(const Step& step);
const Wire* wire_of(const Step& step);

// The steps that came from one cell: [first, first + count) of the rank's list. The spans of a rank
// partition its list.
struct StepSpan {
  Cell cell;
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<Action> joined = {};  // the cells behind `cell` that were woven with it

  bool operator==(const StepSpan&) const = default;
};

struct RankSteps {
  std::vector<Step> steps;
  std::vector<StepSpan> spans;

  bool operator==(const RankSteps&) const = default;
};

struct StepPlan {
  Layout layout;
  int num_micro_batches = 0;
  std::vector<RankSteps> ranks;  // [P]

  bool operator==(const StepPlan&) const = default;
};

}  // namespace weft
