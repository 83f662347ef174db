#include "passes/step_places.h"

#include <algorithm>
#include <optional>

#include "passes/chains.h"

namespace weft {
namespace {

constexpr int kNowhere = HandOverPlaces::kNowhere;

std::pair<Stage, MicroBatch> owner_of(const Step& step) {
  if (const Segment* segment = segment_of(step)) return {segment->stage, segment->micro_batch};
  const Wire& wire = *wire_of(step);
  return {wire.stage, wire.micro_batch};
}

OrderKind kind_of(const Step& first, const Step& second) {
  if (std::holds_alternative<Release>(second)) return OrderKind::Release;
  const bool wgrad = std::holds_alternative<RunWgrad>(second);
  if (wgrad && std::holds_alternative<RunDgrad>(first)) return OrderKind::Wgrad;
  return OrderKind::DataFlow;
}

}  // namespace

StepPlaces::StepPlaces(const StepPlan& plan, bool forward_only)
    : plan_(plan),
      text_(plan),
      num_micro_batches_(std::max(0, plan.num_micro_batches)),
      reductions_(plan.layout.map.num_stages()) {
  const int num_stages = plan.layout.map.num_stages();
  for (int s = 0; s < num_stages; ++s) {
    const StageEvents& events = events_.emplace_back(plan.layout, Stage(s), forward_only);
    for (int layer : gradient_buckets(plan.layout, Stage(s))) reductions_[s][layer];
    auto& orders = orders_.emplace_back(3);
    for (const auto& [a, b] : events.order()) {
      const OrderKind kind = kind_of(events.step(a, MicroBatch(0)), events.step(b, MicroBatch(0)));
      orders[static_cast<std::size_t>(kind)].emplace_back(a, b);
    }
    places_.emplace_back(static_cast<std::size_t>(events.size()) * num_micro_batches_, kNowhere);
  }
  hand_overs_.resize(std::size_t{2} * num_stages * num_micro_batches_);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < plan.ranks[rank].steps.size(); ++i) {
      place_step({static_cast<int>(rank), static_cast<int>(i)});
    }
  }
}

std::span<const int> StepPlaces::places_of(int stage, int micro_batch) const {
  const auto size = static_cast<std::size_t>(events_[stage].size());
  return std::span(places_[stage]).subspan(size * micro_batch, size);
}

std::vector<StepEdge> StepPlaces::edges() const {
  std::vector<StepEdge> all;
  for (const Direction direction : {Direction::Forward, Direction::Backward}) {
    for (int s = 0; s + 1 < num_stages(); ++s) {
      const bool forward = direction == Direction::Forward;
      const int from = forward ? s : s + 1;
      const int to = forward ? s + 1 : s;
      if (rank_of(from) == rank_of(to)) continue;
      all.push_back({direction, from, to, rank_of(from), rank_of(to)});
    }
  }
  return all;
}

void StepPlaces::place_step(Place place) {
  const Step& step = plan_.ranks[place.list].steps[place.index];
  const auto [stage, m] = owner_of(step);
  const int s = stage.value;
  if (s < 0 || s >= num_stages() || rank_of(s) != place.list) {
    strays_.push_back({place, kNowhere, "its stage is not on this rank"});
    return;
  }
  const Wire* wire = wire_of(step);
  if (wire != nullptr && is_gradient_wire(wire->kind)) {
    place_reduction(place, *wire);
    return;
  }
  const std::optional<int> event = events_[s].find(step);
  if (m.value < 0 || m.value >= num_micro_batches_ || !event) {
    strays_.push_back({place, kNowhere, "its stage has no such step"});
    return;
  }
  int& seen = places_[s][static_cast<std::size_t>(m.value) * events_[s].size() + *event];
  if (seen != kNowhere) {
    strays_.push_back({place, seen, ""});
    return;
  }
  seen = place.index;
  if (const auto* run = std::get_if<RunWgrad>(&step)) {
    reductions_[s][run->segment.layer].last_wgrad = place.index;
  }
  if (wire != nullptr) note_hand_over(place, *wire);
}

void StepPlaces::place_reduction(Place place, const Wire& wire) {
  const Step& step = plan_.ranks[place.list].steps[place.index];
  if (std::holds_alternative<Release>(step)) {
    strays_.push_back({place, kNowhere, "a gradient is not given back"});
    return;
  }
  auto& reductions = reductions_[wire.stage.value];
  const auto found = reductions.find(wire.layer);
  if (found == reductions.end()) {
    strays_.push_back({place, kNowhere, "its stage has no such gradients"});
    return;
  }
  const bool start = std::holds_alternative<StartWire>(step);
  Reduction& at = found->second;
  int& seen = wire.kind == WireKind::ReduceGrad ? (start ? at.reduce : at.reduced)
                                                : (start ? at.gather : at.gathered);
  if (seen != kNowhere) {
    strays_.push_back({place, seen, ""});
    return;
  }
  seen = place.index;
}

// Remembers the start or wait of a send or receive.
void StepPlaces::note_hand_over(Place place, const Wire& wire) {
  const Step& step = plan_.ranks[place.list].steps[place.index];
  if (std::holds_alternative<Release>(step)) return;
  const bool start = std::holds_alternative<StartWire>(step);
  const auto note = [&](Direction direction, int from, int HandOverPlaces::* at_start,
                        int HandOverPlaces::* at_wait) {
    HandOverPlaces& hand_over = hand_overs_[slot(direction, from, wire.micro_batch.value)];
    hand_over.*(start ? at_start : at_wait) = place.index;
  };
  const int s = wire.stage.value;
  using enum Direction;
  switch (wire.kind) {
    case WireKind::SendForward:
      note(Forward, s, &HandOverPlaces::send_start, &HandOverPlaces::send_wait);
      break;
    case WireKind::RecvForward:
      note(Forward, s - 1, &HandOverPlaces::recv_start, &HandOverPlaces::recv_wait);
      break;
    case WireKind::SendBackward:
      note(Backward, s, &HandOverPlaces::send_start, &HandOverPlaces::send_wait);
      break;
    case WireKind::RecvBackward:
      note(Backward, s + 1, &HandOverPlaces::recv_start, &HandOverPlaces::recv_wait);
      break;
    case WireKind::Counts:
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      break;
  }
}

}  // namespace weft
