#include "costs/costs.h"

#include <algorithm>

#include "base/names.h"
#include "schedule/text.h"

namespace weft {
namespace {

// The wire that lasts as long as this one: the same bytes the other way, or its other end.
std::optional<WireKind> mirror_of(WireKind kind) {
  switch (kind) {
    case WireKind::Dispatch:
      return WireKind::DispatchBackward;
    case WireKind::DispatchBackward:
      return WireKind::Dispatch;
    case WireKind::Combine:
      return WireKind::CombineBackward;
    case WireKind::CombineBackward:
      return WireKind::Combine;
    case WireKind::SendForward:
      return WireKind::RecvForward;
    case WireKind::RecvForward:
      return WireKind::SendForward;
    case WireKind::SendBackward:
      return WireKind::RecvBackward;
    case WireKind::RecvBackward:
      return WireKind::SendBackward;
    case WireKind::ReduceGrad:
      return WireKind::GatherGrad;
    case WireKind::GatherGrad:
      return WireKind::ReduceGrad;
    case WireKind::Counts:
      return std::nullopt;
  }
  return std::nullopt;
}

// The other pair of mirrors that carries as many bytes.
std::optional<WireKind> twin_of(WireKind kind) {
  switch (kind) {
    case WireKind::Dispatch:
    case WireKind::DispatchBackward:
      return WireKind::Combine;
    case WireKind::Combine:
    case WireKind::CombineBackward:
      return WireKind::Dispatch;
    case WireKind::SendForward:
    case WireKind::RecvForward:
      return WireKind::SendBackward;
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
      return WireKind::SendForward;
    case WireKind::Counts:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

SegmentKey normalised(SegmentKey key) {
  switch (key.kind) {
    case SegmentKind::Attention:
      return key;
    case SegmentKind::SharedExpert:
    case SegmentKind::Experts:
    case SegmentKind::Merge:
      return {key.kind, true};
    case SegmentKind::Embedding:
    case SegmentKind::Mlp:
    case SegmentKind::Head:
    case SegmentKind::MtpProjection:
    case SegmentKind::MtpHead:
    case SegmentKind::Identity:
      return {key.kind, false};
  }
  return key;
}

SegmentKey key_of(const Layout& layout, const Segment& segment) {
  const bool moe = segment.layer >= 0 && kind_of_layer(layout, segment.layer) == LayerKind::Moe;
  return normalised({segment.kind, moe});
}

const StageCost& Costs::of_stage(Stage s) const {
  const auto found = stages.find(s.value);
  return found == stages.end() ? stage : found->second;
}

double Costs::of_cell(const Cell& cell) const {
  if (const auto* both = std::get_if<ActionPair>(&cell)) {
    const StageCost& backward = of_stage(both->backward.stage);
    return pair ? *pair
                : of_stage(both->forward.stage).forward + backward.dgrad + backward.wgrad;
  }
  const Action& action = std::get<Action>(cell);
  const StageCost& cost = of_stage(action.stage);
  switch (action.kind) {
    case ActionKind::Forward:
      return cost.forward;
    case ActionKind::Backward:
      return cost.dgrad + cost.wgrad;
    case ActionKind::Dgrad:
      return cost.dgrad;
    default:
      return cost.wgrad;
  }
}

const SegmentCost& Costs::of_segment(SegmentKey key) const {
  static const SegmentCost kNothing{0, 0, 0};
  const auto& table = segments.empty() ? default_costs().segments : segments;
  auto found = table.find(normalised(key));
  if (found == table.end() && key.kind == SegmentKind::MtpHead) {
    found = table.find({SegmentKind::Head, false});
  }
  return found == table.end() ? kNothing : found->second;
}

double Costs::of_wire(WireKind kind) const {
  const auto& table = wires.empty() ? default_costs().wires : wires;
  const auto named = [&table](std::optional<WireKind> other) -> std::optional<double> {
    const auto found = other ? table.find(*other) : table.end();
    return found == table.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto cost = named(kind)) return *cost;
  if (const auto cost = named(mirror_of(kind))) return *cost;
  if (const auto twin = twin_of(kind)) {
    if (const auto cost = named(*twin)) return *cost;
    if (const auto cost = named(mirror_of(*twin))) return *cost;
  }
  return is_hand_over(kind) ? p2p : 0;
}

const Costs& default_costs() {
  static const Costs kCosts = [] {
    Costs costs;
    costs.segments = {
        {{SegmentKind::Embedding, false}, {0.05, 0, 0.05}},
        {{SegmentKind::Attention, false}, {1, 1, 0.75}},
        {{SegmentKind::Attention, true}, {1, 1, 0.75}},
        {{SegmentKind::Mlp, false}, {1, 1, 1}},
        {{SegmentKind::SharedExpert, true}, {0.25, 0.25, 0.25}},
        {{SegmentKind::Experts, true}, {1, 1, 1}},
        {{SegmentKind::Merge, true}, {0.1, 0.1, 0}},
        {{SegmentKind::Head, false}, {0.5, 0.5, 0.5}},
        {{SegmentKind::MtpProjection, false}, {0.5, 0.5, 0.5}},
        {{SegmentKind::MtpHead, false}, {0.5, 0.5, 0.5}},
        {{SegmentKind::Identity, false}, {0, 0, 0}},
    };
    costs.wires = {
        {WireKind::Counts, 0.02},          {WireKind::Dispatch, 0.5},
        {WireKind::Combine, 0.5},          {WireKind::CombineBackward, 0.5},
        {WireKind::DispatchBackward, 0.5}, {WireKind::SendForward, 0.2},
        {WireKind::RecvForward, 0.2},      {WireKind::SendBackward, 0.2},
        {WireKind::RecvBackward, 0.2},     {WireKind::ReduceGrad, 0.5},
        {WireKind::GatherGrad, 0.5},
    };
    return costs;
  }();
  return kCosts;
}

namespace {

// Those that compute something, in the order of the model.
std::vector<SegmentKey> segments_of(const Layout& layout) {
  const auto has = [&layout](LayerKind kind) {
    return std::ranges::find(layout.layer_kinds, kind) != layout.layer_kinds.end();
  };
  std::vector<SegmentKey> keys = {{SegmentKind::Embedding, false}};
  if (has(LayerKind::Dense)) {
    keys.push_back({SegmentKind::Attention, false});
    keys.push_back({SegmentKind::Mlp, false});
  }
  if (has(LayerKind::Moe)) {
    keys.push_back({SegmentKind::Attention, true});
    if (layout.shared_expert) keys.push_back({SegmentKind::SharedExpert, true});
    keys.push_back({SegmentKind::Experts, true});
    keys.push_back({SegmentKind::Merge, true});
  }
  const bool mtp = std::ranges::any_of(
      layout.stages, [](const StageLayers& stage) { return !stage.mtp_layers.empty(); });
  if (mtp) {
    keys.push_back({SegmentKind::MtpProjection, false});
    keys.push_back({SegmentKind::MtpHead, false});
  }
  keys.push_back({SegmentKind::Head, false});
  return keys;
}

}  // namespace

std::vector<std::string> cost_gaps(const Costs& costs, const Layout& layout) {
  std::vector<std::string> missing, gaps;
  for (const SegmentKey& key : segments_of(layout)) {
    if (!costs.segments.empty() && !costs.segments.contains(key)) missing.push_back(name_of(key));
  }
  if (!missing.empty()) {
    gaps.push_back("[segments] does not name " + join(missing) + ", of which the model has some: " +
                   (missing.size() == 1 ? "it takes" : "they take") + " no time");
  }
  std::vector<std::string> unused;
  for (const auto& [stage, cost] : costs.stages) {
    if (stage >= layout.map.num_stages()) unused.push_back(std::to_string(stage));
  }
  if (!unused.empty()) {
    gaps.push_back("[stages] names " + join(unused) + ", and there " +
                   (layout.map.num_stages() == 1 ? "is " : "are ") +
                   counted(layout.map.num_stages(), "stage") + ", numbered from 0");
  }
  return gaps;
}

std::string name_of(SegmentKey key) {
  const bool moe_attention = key.kind == SegmentKind::Attention && key.moe;
  return (moe_attention ? "moe_" : "") + std::string(segment_name(key.kind));
}

}  // namespace weft
