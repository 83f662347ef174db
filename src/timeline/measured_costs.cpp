#include "timeline/measured_costs.h"

namespace weft {
namespace {

struct Mean {
  double sum = 0;
  int count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / count; }
};

struct SegmentMeans {
  Mean forward, dgrad, wgrad;
};

struct Means {
  std::map<SegmentKey, SegmentMeans> segments;
  std::map<WireKind, Mean> wires;

  void add(const Event& event, const Layout& layout) {
    const Step* step = std::get_if<Step>(&event.label);
    if (step == nullptr) return;
    const double duration = event.end - event.start;
    if (const auto* run = std::get_if<RunForward>(step)) {
      segments[key_of(layout, run->segment)].forward.add(duration);
    } else if (const auto* dgrad = std::get_if<RunDgrad>(step)) {
      segments[key_of(layout, dgrad->segment)].dgrad.add(duration);
    } else if (const auto* wgrad = std::get_if<RunWgrad>(step)) {
      segments[key_of(layout, wgrad->segment)].wgrad.add(duration);
    } else if (event.lane != Lane::Compute) {
      if (const Wire* wire = wire_of(event)) wires[wire->kind].add(duration);
    }
  }
};

}  // namespace

Costs costs_from_timelines(const std::vector<Timeline>& timelines, const Layout& layout) {
  Means means;
  Costs costs;
  for (const Timeline& timeline : timelines) {
    for (const RankTimeline& rank : timeline.ranks) {
      for (const Event& event : rank.events) means.add(event, layout);
    }
  }
  if (!timelines.empty()) costs.unit = timelines.front().unit;
  for (const auto& [key, of] : means.segments) {
    costs.segments[key] = {of.forward.value(), of.dgrad.value(), of.wgrad.value()};
  }
  for (const auto& [kind, duration] : means.wires) costs.wires[kind] = duration.value();
  return costs;
}

}  // namespace weft
