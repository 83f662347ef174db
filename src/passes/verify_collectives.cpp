#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "passes/deadlock.h"
#include "passes/plan_text.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

// One queue per communicator: counts, tokens and gradients have one each.
enum class Queue { None, Counts, Tokens, Gradients };

Queue queue_of(WireKind kind) {
  switch (kind) {
    case WireKind::Counts:
      return Queue::Counts;
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
      return Queue::Tokens;
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return Queue::Gradients;
    case WireKind::SendForward:
    case WireKind::RecvForward:
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
      return Queue::None;
  }
  throw InternalError("wire kind without a queue");
}

const char* name_of(Queue queue) {
  switch (queue) {
    case Queue::None:
      break;
    case Queue::Counts:
      return "counts";
    case Queue::Tokens:
      return "tokens";
    case Queue::Gradients:
      return "gradients";
  }
  throw InternalError("a hand-over is no collective");
}

// The starts and waits of one member's collectives, by place in its steps.
struct Member {
  std::vector<int> places;
  std::map<Queue, std::vector<int>> starts;  // as places in `places`
  std::map<Wire, int> start_of;              // likewise
};

Member collect(const RankSteps& steps) {
  Member member;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const StartWire* start = std::get_if<StartWire>(&steps.steps[i]);
    const WaitWire* wait = std::get_if<WaitWire>(&steps.steps[i]);
    if (start == nullptr && wait == nullptr) continue;
    const Wire& wire = start != nullptr ? start->wire : wait->wire;
    const Queue queue = queue_of(wire.kind);
    if (queue == Queue::None) continue;
    const int place = static_cast<int>(member.places.size());
    member.places.push_back(static_cast<int>(i));
    if (start == nullptr) continue;
    member.starts[queue].push_back(place);
    member.start_of.emplace(wire, place);
  }
  return member;
}

class CollectiveVerifier {
 public:
  explicit CollectiveVerifier(const std::vector<RankSteps>& group) : group_(group), text_(group) {
    for (const RankSteps& steps : group) members_.push_back(collect(steps));
  }

  std::vector<Finding> run() {
    for (std::size_t m = 1; m < members_.size(); ++m) {
      for (Queue queue : {Queue::Counts, Queue::Tokens, Queue::Gradients}) {
        compare(static_cast<int>(m), queue);
      }
    }
    check_waits();
    return findings_.take();
  }

 private:
  const Step& step(Place p) const { return group_[p.list].steps[to_plan(p).index]; }
  Place to_plan(Place p) const { return {p.list, members_[p.list].places[p.index]}; }
  std::string name(Place p) const { return text_.name(to_plan(p)); }

  // The first place where a member's queue differs from that of member 0.
  void compare(int member, Queue queue) {
    const std::vector<int>& expected = members_[0].starts[queue];
    const std::vector<int>& found = members_[member].starts[queue];
    for (std::size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
      if (i >= expected.size()) {
        const Place extra{member, found[i]};
        findings_.add(name(extra) + " has no counterpart on member 0", {to_plan(extra)});
        return;
      }
      const Place first{0, expected[i]};
      if (i >= found.size()) {
        findings_.add(fmt::format("{} has no counterpart on member {}", name(first), member),
                      {to_plan(first)});
        return;
      }
      const Place second{member, found[i]};
      if (step(first) == step(second)) continue;
      findings_.add(fmt::format("collective {} of the queue of {}: {}, but {}", i + 1,
                                name_of(queue), name(first), name(second)),
                    {to_plan(first), to_plan(second)});
      return;
    }
  }

  // A wait needs the start on every member.
  void check_waits() {
    WaitGraph graph;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      auto& needs = graph.needs.emplace_back(members_[m].places.size());
      for (std::size_t i = 0; i < needs.size(); ++i) {
        const Place here{static_cast<int>(m), static_cast<int>(i)};
        const WaitWire* wait = std::get_if<WaitWire>(&step(here));
        if (wait != nullptr) add_needs(here, wait->wire, needs[i]);
      }
    }
    findings_.add_deadlock("the members wait for each other for ever", graph,
                           [this](Place p) { return to_plan(p); });
  }

  void add_needs(Place here, const Wire& wire, std::vector<Place>& needs) {
    for (std::size_t other = 0; other < members_.size(); ++other) {
      const auto it = members_[other].start_of.find(wire);
      if (it != members_[other].start_of.end()) {
        needs.push_back({static_cast<int>(other), it->second});
      } else {
        findings_.add(fmt::format("{} is started nowhere on member {}", name(here), other),
                      {to_plan(here)});
      }
    }
  }

  const std::vector<RankSteps>& group_;
  const PlanText text_;
  std::vector<Member> members_;
  FindingList findings_{"verify_collectives", text_};
};

}  // namespace

std::vector<Finding> verify_collectives(const std::vector<RankSteps>& group) {
  return CollectiveVerifier(group).run();
}

}  // namespace weft
