// How findings name the places of a plan and show them: one way for all verifiers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "passes/deadlock.h"
#include "schedule/schedule.h"
#include "schedule/step.h"

namespace weft {

// The lists of a plan as text. Refers to the plan, which has to outlive it.
class PlanText {
 public:
  explicit PlanText(const Schedule& schedule);             // `rank 0 cell 2 (0B0)`
  explicit PlanText(const StepPlan& plan);                 // `rank 0 step 2 (wait(0SEND_F0))`
  explicit PlanText(const std::vector<RankSteps>& group);  // `member 0 step 2 (...)`

  // Entries are counted from 1.
  std::string name(Place place) const;

  // The lists that hold a marked place, and of each the entries beside one; marked ones in brackets
  // with a letter each, in the order given. Blocks of at most 80 columns; no newline at the end.
  //
  //   cell    1       2       3       4
  //   rank 0  0F0     [0B0]a  [0F1]d  0B1
  //   rank 1  [1F1]c  1F0     [1B0]b  1B1
  std::string grid(const std::vector<Place>& marked) const;

 private:
  std::string list_noun_;
  std::string entry_noun_;
  std::vector<int> sizes_;  // of each list
  std::function<std::string(Place)> entry_;
};

// What one verifier found so far. Every finding ends with the grid of its places, if it has some.
class FindingList {
 public:
  FindingList(std::string verifier, const PlanText& text)
      : verifier_(std::move(verifier)), text_(text) {}

  void add(const std::string& message, const std::vector<Place>& marked = {});
  // `what`, with a cycle in words. `place_of` maps places of a graph to those of the plan.
  void add_cycle(const std::string& what, const std::vector<CycleLink>& cycle,
                 const std::function<Place(Place)>& place_of = {});
  // Nothing if the lists can end; else `what` with a shortest cycle.
  void add_deadlock(const std::string& what, const WaitGraph& graph,
                    const std::function<Place(Place)>& place_of = {});
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::string verifier_;
  const PlanText& text_;
  std::vector<Finding> findings_;
};

}  // namespace weft
