#include "timeline/measured_costs.h"

#include <map>
#include <set>
#include <utility>

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

// Layers with wires of their own.
std::set<int> moe_layers(const std::vector<Timeline>& timelines) {
  std::set<int> layers;
  for (const Timeline& timeline : timelines) {
    for (const RankTimeline& rank : timeline.ranks) {
      for (const Event& event : rank.events) {
        if (const Wire* wire = wire_of(event); wire != nullptr && wire->layer >= 0) {
          layers.insert(wire->layer);
        }
      }
    }
  }
  return layers;
}

struct StageSums {
  StageCost cost{0, 0, 0};
  int forwards = 0;  // micro-batches, of all ranks and steps
};

class Means {
 public:
  explicit Means(std::set<int> moe_layers) : moe_layers_(std::move(moe_layers)) {}

  void add(const RankTimeline& rank) {
    std::set<std::pair<Stage, MicroBatch>> forwards;
    for (const Event& event : rank.events) {
      const Step* step = std::get_if<Step>(&event.label);
      if (step == nullptr) continue;
      const double duration = event.end - event.start;
      if (const auto* run = std::get_if<RunForward>(step)) {
        of(run->segment).forward.add(duration);
        stages_[run->segment.stage].cost.forward += duration;
        forwards.insert({run->segment.stage, run->segment.micro_batch});
      } else if (const auto* dgrad = std::get_if<RunDgrad>(step)) {
        of(dgrad->segment).dgrad.add(duration);
        stages_[dgrad->segment.stage].cost.dgrad += duration;
      } else if (const auto* wgrad = std::get_if<RunWgrad>(step)) {
        of(wgrad->segment).wgrad.add(duration);
        stages_[wgrad->segment.stage].cost.wgrad += duration;
      } else if (event.lane != Lane::Compute) {
        if (const Wire* wire = wire_of(event)) wires_[wire->kind].add(duration);
      }
    }
    for (const auto& [stage, micro_batch] : forwards) ++stages_[stage].forwards;
  }

  void write(Costs& costs) const {
    for (const auto& [key, means] : segments_) {
      costs.segments[key] = {means.forward.value(), means.dgrad.value(), means.wgrad.value()};
    }
    for (const auto& [kind, duration] : wires_) costs.wires[kind] = duration.value();
    Mean forward, dgrad, wgrad;
    for (const auto& [stage, sums] : stages_) {
      if (sums.forwards == 0) continue;
      const StageCost cost{sums.cost.forward / sums.forwards, sums.cost.dgrad / sums.forwards,
                           sums.cost.wgrad / sums.forwards};
      costs.stages[stage.value] = cost;
      forward.add(cost.forward);
      dgrad.add(cost.dgrad);
      wgrad.add(cost.wgrad);
    }
    if (!costs.stages.empty()) costs.stage = {forward.value(), dgrad.value(), wgrad.value()};
  }

 private:
  SegmentMeans& of(const Segment& segment) {
    return segments_[normalised({segment.kind, moe_layers_.contains(segment.layer)})];
  }

  std::set<int> moe_layers_;
  std::map<SegmentKey, SegmentMeans> segments_;
  std::map<WireKind, Mean> wires_;
  std::map<Stage, StageSums> stages_;
};

}  // namespace

Costs costs_from_timelines(const std::vector<Timeline>& timelines) {
  Means means(moe_layers(timelines));
  for (const Timeline& timeline : timelines) {
    for (const RankTimeline& rank : timeline.ranks) means.add(rank);
  }
  Costs costs;
  if (!timelines.empty()) costs.unit = timelines.front().unit;
  means.write(costs);
  return costs;
}

}  // namespace weft
