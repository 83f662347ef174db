#include "passes/place_reductions.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "passes/cell_times.h"
#include "passes/chains.h"

namespace weft {
namespace {

bool is_reduction(const StepSpan& span) {
  const Action* action = std::get_if<Action>(&span.cell);
  return action != nullptr && action->kind == ActionKind::ReduceGrad;
}

class Placer {
 public:
  Placer(const RankSteps& steps, const Layout& layout, const Costs& costs, bool overlap)
      : in_(steps), layout_(layout), costs_(costs), overlap_(overlap) {}

  RankSteps run() {
    find_last_wgrads();
    out_.steps.reserve(in_.steps.size());
    for (std::size_t i = 0; i < in_.spans.size(); ++i) copy_span(i);
    finish();
    return std::move(out_);
  }

 private:
  struct UnderWay {
    Bucket bucket;
    double due = 0;
  };

  void find_last_wgrads() {
    for (std::size_t i = 0; i < in_.steps.size(); ++i) {
      const RunWgrad* run = std::get_if<RunWgrad>(&in_.steps[i]);
      if (run != nullptr) last_wgrads_[{run->segment.stage, run->segment.layer}] = i;
    }
  }

  // Stages whose REDUCE_GRAD cells follow the span with no compute cell between.
  std::vector<Stage> reduced_behind(std::size_t span) const {
    std::vector<Stage> stages;
    for (std::size_t i = span + 1; i < in_.spans.size(); ++i) {
      const StepSpan& next = in_.spans[i];
      if (!compute_actions(next.cell).empty()) break;
      if (is_reduction(next)) stages.push_back(std::get<Action>(next.cell).stage);
    }
    return stages;
  }

  void copy_span(std::size_t index) {
    StepSpan span = in_.spans[index];
    const std::size_t first = out_.steps.size();
    const bool computes = !compute_actions(span.cell).empty();
    const std::vector<Stage> stages =
        overlap_ && computes ? reduced_behind(index) : std::vector<Stage>();
    for (std::size_t i = span.first; i < span.first + span.count; ++i) copy_step(i, stages);
    if (is_reduction(span)) start_stage(std::get<Action>(span.cell).stage);
    span.first = first;
    span.count = out_.steps.size() - first;
    out_.spans.push_back(std::move(span));
  }

  void copy_step(std::size_t index, const std::vector<Stage>& reduced) {
    const Step& step = in_.steps[index];
    if (const double* cost = cost_of(step)) {
      if (overlap_) advance();
      clock_ += *cost;
    }
    out_.steps.push_back(step);
    const RunWgrad* run = std::get_if<RunWgrad>(&step);
    if (run == nullptr) return;
    const Bucket bucket{run->segment.stage, run->segment.layer};
    const bool here = std::find(reduced.begin(), reduced.end(), bucket.first) != reduced.end();
    if (here && last_wgrads_.at(bucket) == index) start(bucket);
  }

  // Null for a step that runs no segment.
  const double* cost_of(const Step& step) const {
    const auto cost = [&](const Segment& segment) -> const SegmentCost& {
      return costs_.of_segment(key_of(layout_, segment));
    };
    if (const auto* run = std::get_if<RunForward>(&step)) return &cost(run->segment).forward;
    if (const auto* run = std::get_if<RunDgrad>(&step)) return &cost(run->segment).dgrad;
    if (const auto* run = std::get_if<RunWgrad>(&step)) return &cost(run->segment).wgrad;
    return nullptr;
  }

  // The stage's buckets that have not started, in the order of their last W's.
  void start_stage(Stage stage) {
    std::vector<std::pair<std::size_t, Bucket>> buckets;
    for (int layer : gradient_buckets(layout_, stage)) {
      const Bucket bucket{stage, layer};
      const auto last = last_wgrads_.find(bucket);
      if (last != last_wgrads_.end()) buckets.emplace_back(last->second, bucket);
    }
    std::sort(buckets.begin(), buckets.end());
    for (const auto& [place, bucket] : buckets) start(bucket);
  }

  void start(Bucket bucket) {
    last_wgrads_.erase(bucket);
    put<StartWire>(WireKind::ReduceGrad, bucket);
    reducing_.push_back({bucket, time_of_end(WireKind::ReduceGrad)});
  }

  // The wires share one lane. Once more its cost: links are slower than thought, replicas lag.
  double time_of_end(WireKind kind) {
    lane_free_ = std::max(lane_free_, clock_) + costs_.of_wire(kind);
    return lane_free_ + costs_.of_wire(kind);
  }

  // Waits for what is done by now.
  void advance() {
    while (!reducing_.empty() && reducing_.front().due <= clock_) gather_first();
    while (!gathering_.empty() && gathering_.front().due <= clock_) take_first();
  }

  void gather_first() {
    const Bucket bucket = reducing_.front().bucket;
    reducing_.pop_front();
    put<WaitWire>(WireKind::ReduceGrad, bucket);
    put<StartWire>(WireKind::GatherGrad, bucket);
    gathering_.push_back({bucket, time_of_end(WireKind::GatherGrad)});
  }

  void take_first() {
    put<WaitWire>(WireKind::GatherGrad, gathering_.front().bucket);
    gathering_.pop_front();
  }

  void finish() {
    while (!reducing_.empty()) {
      in_span_of(reducing_.front().bucket.first, [&] { gather_first(); });
    }
    while (!gathering_.empty()) {
      in_span_of(gathering_.front().bucket.first, [&] { take_first(); });
    }
  }

  // Adds what `put_steps` puts to a last span of the stage's REDUCE_GRAD.
  template <class PutSteps>
  void in_span_of(Stage stage, const PutSteps& put_steps) {
    const Cell cell = Action{ActionKind::ReduceGrad, stage, MicroBatch(0)};
    if (out_.spans.back().cell != cell) out_.spans.push_back({cell, out_.steps.size(), 0});
    put_steps();
    out_.spans.back().count = out_.steps.size() - out_.spans.back().first;
  }

  template <class S>
  void put(WireKind kind, Bucket bucket) {
    out_.steps.push_back(S{{kind, bucket.first, bucket.second, MicroBatch(0)}});
  }

  const RankSteps& in_;
  const Layout& layout_;
  const Costs& costs_;
  const bool overlap_;
  RankSteps out_;
  std::map<Bucket, std::size_t> last_wgrads_;  // of buckets that have not started
  double clock_ = 0;                           // compute so far
  double lane_free_ = 0;
  std::deque<UnderWay> reducing_, gathering_;
};

}  // namespace

void place_reductions(RankSteps& steps, const Layout& layout, const Costs& costs, bool overlap) {
  if (std::none_of(steps.spans.begin(), steps.spans.end(), is_reduction)) return;
  steps = Placer(steps, layout, costs, overlap).run();
}

}  // namespace weft
