// Where every step of a plan stands: found once, read by all verifiers of the steps level.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "passes/deadlock.h"
#include "passes/plan_text.h"
#include "passes/stage_events.h"
#include "schedule/step.h"

namespace weft {

// What a verifier of one kind looks at (StageEvents::order, by the later event).
enum class OrderKind { DataFlow, Wgrad, Release };

// One hand-over between two ranks: where its steps stand on the sender's and the receiver's list.
struct HandOverPlaces {
  int send_start = kNowhere, send_wait = kNowhere;
  int recv_start = kNowhere, recv_wait = kNowhere;

  static constexpr int kNowhere = -1;
};

// The sum of one bucket of gradients (chains.h), reduced and then gathered.
struct Reduction {
  int last_wgrad = HandOverPlaces::kNowhere;                                  // that adds to it
  int reduce = HandOverPlaces::kNowhere, reduced = HandOverPlaces::kNowhere;  // start and wait
  int gather = HandOverPlaces::kNowhere, gathered = HandOverPlaces::kNowhere;
};

// One queue: what stage `from` hands to its neighbour `to` on another rank.
struct StepEdge {
  Direction direction = Direction::Forward;
  int from = 0, to = 0;  // stages
  int from_rank = 0, to_rank = 0;
};

// A step that no plan of this layout has, or that has been there before.
struct StrayStep {
  Place place;
  int seen = HandOverPlaces::kNowhere;  // index of the first one, if it is a second one
  const char* why = "";                 // else
};

// Refers to the plan, which has to outlive it. Of a step that stands twice the first place counts.
// Linear in the number of steps.
class StepPlaces {
 public:
  StepPlaces(const StepPlan& plan, bool forward_only);

  const StepPlan& plan() const { return plan_; }
  const PlanText& text() const { return text_; }
  const StageEvents& events(int stage) const { return events_[stage]; }
  // Pairs (a, b) of events of a stage, a before b, of one kind.
  const std::vector<std::pair<int, int>>& order(int stage, OrderKind kind) const {
    return orders_[stage][static_cast<std::size_t>(kind)];
  }
  // The places of all events of (stage, micro-batch) as indices of its rank's list.
  std::span<const int> places_of(int stage, int micro_batch) const;

  int num_stages() const { return static_cast<int>(events_.size()); }
  int num_micro_batches() const { return num_micro_batches_; }
  int rank_of(int stage) const { return plan_.layout.map.rank_of(Stage(stage)).value; }
  std::vector<StepEdge> edges() const;  // forward ones first
  const HandOverPlaces& hand_over(const StepEdge& edge, int micro_batch) const {
    return hand_overs_[slot(edge.direction, edge.from, micro_batch)];
  }
  const std::map<int, Reduction>& reductions(int stage) const { return reductions_[stage]; }
  const std::vector<StrayStep>& strays() const { return strays_; }

 private:
  std::size_t slot(Direction direction, int from, int micro_batch) const {
    const auto row = static_cast<std::size_t>(direction) * events_.size() + from;
    return row * num_micro_batches_ + micro_batch;
  }
  void place_step(Place place);
  void place_reduction(Place place, const Wire& wire);
  void note_hand_over(Place place, const Wire& wire);

  const StepPlan& plan_;
  const PlanText text_;
  const int num_micro_batches_;
  std::vector<StageEvents> events_;                                    // [stage]
  std::vector<std::vector<std::vector<std::pair<int, int>>>> orders_;  // [stage, OrderKind]
  std::vector<std::vector<int>> places_;              // [stage], of it [micro-batch, event]
  std::vector<HandOverPlaces> hand_overs_;            // [direction, from, micro-batch]
  std::vector<std::map<int, Reduction>> reductions_;  // [stage] by bucket
  std::vector<StrayStep> strays_;
};

}  // namespace weft
