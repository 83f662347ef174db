#include "estimate/model_bytes.h"

#include <algorithm>
#include <ranges>

#include "passes/chains.h"

namespace weft {
namespace {

// Steps of one stage and micro-batch, one after the other.
class StageSteps {
 public:
  StageSteps(const Layout& layout, Stage stage)
      : stage_(stage),
        first_(stage.value == 0),
        last_(stage.value + 1 == layout.map.num_stages()),
        sends_(!last_ && !layout.map.is_local(stage, Stage(stage.value + 1))),
        segments_(stage_segments(layout, stage)) {}

  void forward() {
    if (!first_) steps_.push_back(StartWire{wire(WireKind::RecvForward, -1)});
    for (const Segment& segment : segments_) {
      if (segment.kind == SegmentKind::Experts) exchange(WireKind::Dispatch, segment);
      if (segment.kind == SegmentKind::Merge) exchange(WireKind::Combine, segment);
      steps_.push_back(RunForward{segment});
    }
    if (last_) return;
    if (sends_) steps_.push_back(StartWire{wire(WireKind::SendForward, -1)});
    steps_.push_back(Release{wire(WireKind::SendForward, -1)});
  }

  void backward(bool with_wgrads) {
    if (!last_) steps_.push_back(StartWire{wire(WireKind::RecvBackward, -1)});
    for (const Segment& segment : segments_ | std::views::reverse) {
      if (segment.kind == SegmentKind::Experts) exchange(WireKind::CombineBackward, segment);
      const bool is_moe = std::ranges::any_of(segments_, [&](const Segment& other) {
        return other.kind == SegmentKind::Experts && other.layer == segment.layer;
      });
      if (segment.kind == SegmentKind::Attention && is_moe) {
        exchange(WireKind::DispatchBackward, segment);
      }
      if (has_dgrad(segment.kind)) steps_.push_back(RunDgrad{segment});
      if (with_wgrads && has_wgrad(segment.kind)) steps_.push_back(RunWgrad{segment});
    }
    if (!first_) steps_.push_back(Release{wire(WireKind::SendBackward, -1)});
  }

  std::size_t size() const { return steps_.size(); }
  RankSteps take() { return {std::move(steps_), {}}; }

 private:
  Wire wire(WireKind kind, int layer) const { return {kind, stage_, layer, MicroBatch(0)}; }

  void exchange(WireKind kind, const Segment& segment) {
    steps_.push_back(StartWire{wire(kind, segment.layer)});
    steps_.push_back(Release{wire(kind, segment.layer)});
  }

  const Stage stage_;
  const bool first_, last_;
  const bool sends_;  // to another rank
  const std::vector<Segment> segments_;
  std::vector<Step> steps_;
};

// The most that steps [from, ...) hold on top of `kept`.
std::int64_t more_than(std::int64_t kept, const std::vector<std::int64_t>& during, std::size_t from,
                       std::size_t end) {
  std::int64_t most = kept;
  for (std::size_t i = from; i < end; ++i) most = std::max(most, during[i]);
  return most - kept;
}

}  // namespace

std::vector<KeptBytes> model_stage_bytes(const Layout& layout, const ActivationTable& table) {
  std::vector<KeptBytes> stages;
  for (int s = 0; s < layout.map.num_stages(); ++s) {
    StageSteps split(layout, Stage(s)), whole(layout, Stage(s));
    split.forward();
    whole.forward();
    const std::size_t forward = split.size();
    split.backward(false);
    whole.backward(true);
    const std::size_t dgrad = split.size(), backward = whole.size();
    const std::vector<RankActivations> held =
        count_activations({layout, 1, {split.take(), whole.take()}}, table);

    KeptBytes& kept = stages.emplace_back();
    kept.activation = held[0].after[forward - 1];
    kept.wgrad = held[0].after[dgrad - 1];
    kept.forward = more_than(kept.activation, held[0].during, 0, forward);
    kept.dgrad = more_than(kept.activation, held[0].during, forward, dgrad);
    kept.backward = more_than(kept.activation, held[1].during, forward, backward);
  }
  return stages;
}

}  // namespace weft
