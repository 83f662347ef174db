#include "passes/stage_events.h"

#include <algorithm>

#include "base/error.h"
#include "passes/chains.h"

namespace weft {
namespace {

constexpr std::size_t kNumKinds = 11;  // of wires; segments have fewer
static_assert(static_cast<int>(WireKind::GatherGrad) + 1 == kNumKinds);
constexpr std::size_t kNumStepKinds = std::variant_size_v<Step>;

bool leaves_rank(const Layout& layout, Stage stage, int neighbour) {
  return neighbour >= 0 && neighbour < layout.map.num_stages() &&
         !layout.map.is_local(stage, Stage(neighbour));
}

}  // namespace

StageEvents::StageEvents(const Layout& layout, Stage stage, bool forward_only)
    : stage_(stage),
      num_decoder_layers_(number_of_mtp_layer(layout, 0)),
      segments_(stage_segments(layout, stage)) {
  for (const Segment& segment : segments_) {
    if (segment.layer >= 0) layers_.push_back(segment.layer);
  }
  std::sort(layers_.begin(), layers_.end());
  layers_.erase(std::unique(layers_.begin(), layers_.end()), layers_.end());
  event_of_slot_.assign((layers_.size() + 1) * kNumKinds * kNumStepKinds, -1);
  add_forward(layout);
  if (!forward_only) add_backward(layout);
}

Step StageEvents::step(int event, MicroBatch micro_batch) const {
  Step step = events_[event];
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.segment; }) {
          s.segment.micro_batch = micro_batch;
        } else {
          s.wire.micro_batch = micro_batch;
        }
      },
      step);
  return step;
}

std::optional<int> StageEvents::find(const Step& step) const {
  const std::size_t slot = slot_of(step);
  if (slot >= event_of_slot_.size() || event_of_slot_[slot] < 0) return std::nullopt;
  return event_of_slot_[slot];
}

// Past the end if the layer is none of the stage's.
std::size_t StageEvents::slot_of(const Step& step) const {
  const auto [kind, layer] = std::visit(
      [](const auto& s) {
        if constexpr (requires { s.segment; }) {
          return std::pair(static_cast<std::size_t>(s.segment.kind), s.segment.layer);
        } else {
          return std::pair(static_cast<std::size_t>(s.wire.kind), s.wire.layer);
        }
      },
      step);
  std::size_t position = 0;
  if (layer != -1) {
    const auto it = std::lower_bound(layers_.begin(), layers_.end(), layer);
    if (it == layers_.end() || *it != layer) return event_of_slot_.size();
    position = static_cast<std::size_t>(it - layers_.begin()) + 1;
  }
  return (position * kNumKinds + kind) * kNumStepKinds + step.index();
}

int StageEvents::add(const Step& step) {
  events_.push_back(step);
  event_of_slot_.at(slot_of(step)) = size() - 1;
  return size() - 1;
}

StageEvents::WireEvents StageEvents::add_wire(WireKind kind, int layer) {
  const Wire wire{kind, stage_, layer, MicroBatch(0)};
  const WireEvents events{add(StartWire{wire}), add(WaitWire{wire})};
  before(events.start, events.wait);
  if (kind != WireKind::RecvForward && kind != WireKind::RecvBackward) {
    before(events.wait, add(Release{wire}));
  }
  return events;
}

int StageEvents::forward(SegmentKind kind, int layer) const {
  return find(RunForward{{kind, stage_, layer, MicroBatch(0)}}).value();
}

int StageEvents::dgrad(SegmentKind kind, int layer) const {
  return find(RunDgrad{{kind, stage_, layer, MicroBatch(0)}}).value();
}

// 0 the model's own, behind its decoder layers; k + 1 that of MTP layer k.
int StageEvents::hidden_state_of(int layer) const {
  return std::max(0, layer + 1 - num_decoder_layers_);
}

// A head's forward: behind the layer that makes what it reads, if this stage has it.
void StageEvents::reads_hidden_state(const Segment& head, int event) {
  const auto maker = makers_.find(hidden_state_of(head.layer));
  if (maker == makers_.end()) {
    first_forwards_.push_back(event);
  } else {
    before(maker->second, event);
  }
}

// A segment's backward: behind the heads that read what its forward made.
void StageEvents::takes_gradients(const Segment& segment, int event) {
  const int state = hidden_state_of(segment.layer);
  if (makers_.at(state) != forward(segment.kind, segment.layer)) return;
  for (const int head : gradients_[state]) before(head, event);
}

void StageEvents::add_forward(const Layout& layout) {
  int previous = -1;
  for (const Segment& segment : segments_) {
    const int event = add(RunForward{segment});
    if (segment.kind != SegmentKind::SharedExpert) last_forward_ = event;
    switch (segment.kind) {
      case SegmentKind::SharedExpert:
        before(forward(SegmentKind::Attention, segment.layer), event);
        continue;  // beside the chain
      case SegmentKind::Head:
      case SegmentKind::MtpHead:
        reads_hidden_state(segment, event);
        continue;
      case SegmentKind::Experts: {
        const WireEvents counts = add_wire(WireKind::Counts, segment.layer);
        const WireEvents dispatch = add_wire(WireKind::Dispatch, segment.layer);
        before(previous, counts.start);
        before(counts.wait, dispatch.start);
        before(dispatch.wait, event);
        break;
      }
      case SegmentKind::Merge: {
        const WireEvents combine = add_wire(WireKind::Combine, segment.layer);
        before(previous, combine.start);
        before(combine.wait, event);
        if (layout.shared_expert) before(forward(SegmentKind::SharedExpert, segment.layer), event);
        break;
      }
      case SegmentKind::Embedding:
      case SegmentKind::Attention:
      case SegmentKind::Mlp:
      case SegmentKind::MtpProjection:
      case SegmentKind::Identity:
        if (previous >= 0) before(previous, event);
        break;
    }
    if (previous < 0) first_forwards_.push_back(event);
    makers_[hidden_state_of(segment.layer)] = event;
    previous = event;
  }
  if (leaves_rank(layout, stage_, stage_.value - 1)) {
    const int received = add_wire(WireKind::RecvForward, -1).wait;
    for (const int event : first_forwards_) before(received, event);
  }
  if (leaves_rank(layout, stage_, stage_.value + 1)) {
    before(last_forward_, add_wire(WireKind::SendForward, -1).start);
  }
}

void StageEvents::add_backward(const Layout& layout) {
  int previous = -1;
  for (auto it = segments_.rbegin(); it != segments_.rend(); ++it) {
    const Segment& segment = *it;
    const bool embedding = segment.kind == SegmentKind::Embedding;
    if (embedding) {
      const int wgrad = add(RunWgrad{segment});
      before(previous >= 0 ? previous : last_forward_, wgrad);
      takes_gradients(segment, wgrad);
      if (previous < 0) first_backward_ = previous = wgrad;
      continue;
    }
    const int event = add(RunDgrad{segment});
    before(last_forward_, event);
    if (segment.kind != SegmentKind::Merge && segment.kind != SegmentKind::Identity) {
      before(event, add(RunWgrad{segment}));
    }
    if (is_head(segment.kind)) {
      const int state = hidden_state_of(segment.layer);
      before(forward(segment.kind, segment.layer), event);
      (makers_.contains(state) ? gradients_[state] : last_backwards_).push_back(event);
      continue;
    }
    switch (segment.kind) {
      case SegmentKind::SharedExpert:
        before(dgrad(SegmentKind::Merge, segment.layer), event);
        continue;  // beside the chain
      case SegmentKind::Experts: {
        const WireEvents combine = add_wire(WireKind::CombineBackward, segment.layer);
        before(previous, combine.start);
        before(combine.wait, event);
        break;
      }
      case SegmentKind::Attention:
        if (kind_of_layer(layout, segment.layer) == LayerKind::Moe) {
          const WireEvents dispatch = add_wire(WireKind::DispatchBackward, segment.layer);
          before(previous, dispatch.start);
          before(dispatch.wait, event);
          if (layout.shared_expert) before(dgrad(SegmentKind::SharedExpert, segment.layer), event);
          break;
        }
        before(previous, event);
        break;
      case SegmentKind::Mlp:
      case SegmentKind::Merge:
      case SegmentKind::MtpProjection:
      case SegmentKind::Identity:
        if (previous >= 0) before(previous, event);
        break;
      case SegmentKind::Embedding:
      case SegmentKind::Head:
      case SegmentKind::MtpHead:
        break;
    }
    takes_gradients(segment, event);
    if (previous < 0) first_backward_ = event;
    previous = event;
  }
  if (previous >= 0) last_backwards_.push_back(previous);
  if (leaves_rank(layout, stage_, stage_.value + 1)) {
    before(add_wire(WireKind::RecvBackward, -1).wait, first_backward_);
  }
  if (leaves_rank(layout, stage_, stage_.value - 1)) {
    const int send = add_wire(WireKind::SendBackward, -1).start;
    for (const int event : last_backwards_) before(event, send);
  }
}

}  // namespace weft
