// What has to happen for one micro-batch in one stage, and what has to come before what: the rules
// that verify_steps holds a plan to. Written from the model's data flow, not from the passes.
#pragma once

#include <map>
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

  // Events of the forward that read what the stage takes from the one before, and the one that
  // makes what it hands on; likewise of the input gradients, where of a stage with an embedding
  // alone its W is both. Where neighbours are on one rank these meet without a message.
  const std::vector<int>& first_forwards() const { return first_forwards_; }
  int last_forward() const { return last_forward_; }
  int first_backward() const { return first_backward_; }
  const std::vector<int>& last_backwards() const { return last_backwards_; }

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
  int hidden_state_of(int layer) const;
  void reads_hidden_state(const Segment& head, int event);
  void takes_gradients(const Segment& segment, int event);
  void add_forward(const Layout& layout);
  void add_backward(const Layout& layout);
  std::size_t slot_of(const Step& step) const;

  Stage stage_;
  int num_decoder_layers_;
  std::vector<Segment> segments_;
  std::vector<int> layers_;  // of the stage's segments, ascending
  std::vector<Step> events_;
  std::vector<int> event_of_slot_;
  std::vector<std::pair<int, int>> order_;
  std::map<int, int> makers_;  // by hidden state, the forward that makes it in this stage
  std::map<int, std::vector<int>> gradients_;  // by hidden state, of those made here, so far
  std::vector<int> first_forwards_, last_backwards_;
  int last_forward_ = -1, first_backward_ = -1;
};

}  // namespace weft
