#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "passes/deadlock.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

// The two queues of an expert parallel group: counts have one of their own.
enum class Queue { None, Counts, Tokens };

Queue queue_of(WireKind kind) {
  switch (kind) {
    case WireKind::Counts:
      return Queue::Counts;
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
      return Queue::Tokens;
    case WireKind::SendForward:
    case WireKind::RecvForward:
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
    case WireKind::ReduceGrad:
    case WireKind::GatherGrad:
      return Queue::None;
  }
  throw InternalError("wire kind without a queue");
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
  explicit CollectiveVerifier(const std::vector<RankSteps>& group) : group_(group) {
    for (const RankSteps& steps : group) members_.push_back(collect(steps));
  }

  std::vector<Finding> run() {
    for (std::size_t m = 1; m < members_.size(); ++m) {
      for (Queue queue : {Queue::Counts, Queue::Tokens}) compare(static_cast<int>(m), queue);
    }
    if (findings_.empty() && !members_.empty()) check_waits();
    return findings_;
  }

 private:
  void report(std::string message) {
    findings_.push_back({"verify_collectives", std::move(message)});
  }

  const Step& step(Place p) const { return group_[p.list].steps[members_[p.list].places[p.index]]; }

  std::string name(Place p) const {
    return fmt::format("member {} step {} ({})", p.list, members_[p.list].places[p.index] + 1,
                       print(step(p)));
  }

  // The first place where the member's queue differs from that of member 0.
  void compare(int member, Queue queue) {
    const std::vector<int>& expected = members_[0].starts[queue];
    const std::vector<int>& found = members_[member].starts[queue];
    for (std::size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
      if (i >= expected.size()) {
        report(fmt::format("{} has no counterpart on member 0", name({member, found[i]})));
        return;
      }
      const Place first{0, expected[i]};
      if (i >= found.size()) {
        report(fmt::format("{} has no counterpart on member {}", name(first), member));
        return;
      }
      const Place second{member, found[i]};
      if (step(first) == step(second)) continue;
      report(
          fmt::format("collective {} of the queue: {}, but {}", i + 1, name(first), name(second)));
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
        if (wait == nullptr) continue;
        for (std::size_t other = 0; other < members_.size(); ++other) {
          const auto it = members_[other].start_of.find(wait->wire);
          if (it == members_[other].start_of.end()) {
            report(fmt::format("{} is started nowhere", name(here)));
            return;
          }
          needs[i].push_back({static_cast<int>(other), it->second});
        }
      }
    }
    const std::vector<Place> cycle = find_deadlock(graph);
    if (cycle.empty()) return;
    report("the members wait for each other for ever: " +
           print_deadlock(graph, cycle, [this](Place p) { return name(p); }));
  }

  const std::vector<RankSteps>& group_;
  std::vector<Member> members_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify_collectives(const std::vector<RankSteps>& group) {
  return CollectiveVerifier(group).run();
}

}  // namespace weft
