// What has to happen for one micro-batch in one stage, and what has to come before what: the rules
// that verify_steps holds a plan to. Written from the model's data flow, not from the passes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "layout/layout.h"
#include "schedule/step.h"

namespace weft {

// Events are numbered per stage; micro-batch 0 stands for each.
class StageEvents {
 public:
  StageEvents(const Layout& layout, Stage stage, bool forward_only);

  int size() const { return static_cast<int>(events_.size()); }
  // The event as a step of the micro-batch.
  Step step(int event, MicroBatch micro_batch) const;
  // The event of a step of this stage; empty if the stage has no such step.
  std::optional<int> find(const Step& step) const;
  // (a, b): a comes before b.
  const std::vector<std::pair<int, int>>& order() const { return order_; }

  // First and last event of the forward, and of the input gradients; of a stage with an embedding
  // alone its W is both. Where neighbours are on one rank these meet without a message.
  int first_forward() const { return first_forward_; }
  int last_forward() const { return last_forward_; }
  int first_backward() const { return first_backward_; }
  int last_backward() const { return last_backward_; }

 private:
  // A wire's start, wait and, unless it is a receive, release.
  struct WireEvents {
    int start, wait;
  };

  int add(const Step& step);
  void before(int a, int b) { order_.emplace_back(a, b); }
  WireEvents add_wire(WireKind kind, int layer);
  int forward(SegmentKind kind, int layer) const;
  int dgrad(SegmentKind kind, int layer) const;
  void add_forward(const Layout& layout);
  void add_backward(const Layout& layout);
  std::size_t slot_of(const Step& step) const;

  Stage stage_;
  std::vector<Segment> segments_;
  std::vector<int> layers_;  // of the stage, ascending
  std::vector<Step> events_;
  std::vector<int> event_of_slot_;
  std::vector<std::pair<int, int>> order_;
  int first_forward_ = -1, last_forward_ = -1, first_backward_ = -1, last_backward_ = -1;
};

}  // namespace weft
