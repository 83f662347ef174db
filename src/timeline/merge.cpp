#include "timeline/merge.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

// One exchange: the wire by its first end (a receive by its send), which of its occurrences, and
// the ranks that can take part.
using Exchange = std::tuple<Wire, int, std::vector<Rank>>;

Wire sending_end(Wire wire) {
  if (wire.kind == WireKind::RecvForward) {
    wire.kind = WireKind::SendForward;
    wire.stage = Stage(wire.stage.value - 1);
  } else if (wire.kind == WireKind::RecvBackward) {
    wire.kind = WireKind::SendBackward;
    wire.stage = Stage(wire.stage.value + 1);
  }
  return wire;
}

std::vector<Rank> participants(const Mesh& mesh, Rank rank, WireKind kind) {
  if (is_all_to_all(kind) || kind == WireKind::Counts) return ep_group(mesh, rank);
  if (is_gradient_wire(kind)) return dp_group(mesh, rank);
  // Both ends of a hand-over lie in one replica: the ranks of all stages with the same dp and tp.
  const Coordinates at = coordinates_of(mesh, rank);
  std::vector<Rank> replica;
  for (int pp = 0; pp < mesh.pp_size; ++pp) {
    replica.push_back(global_rank_of(mesh, pp, at.dp, at.tp));
  }
  return replica;
}

struct RecordedWire {
  Event* event;
  Exchange exchange;
};

std::vector<RecordedWire> recorded_wires(std::vector<RankTimeline>& ranks, const Mesh& mesh) {
  std::vector<RecordedWire> wires;
  for (RankTimeline& rank : ranks) {
    sort_events(rank.events);
    std::map<Wire, int> seen;
    for (Event& event : rank.events) {
      const Wire* wire = event.lane == Lane::Compute ? nullptr : wire_of(event);
      if (wire == nullptr) continue;
      wires.push_back(
          {&event, {sending_end(*wire), seen[*wire]++, participants(mesh, rank.rank, wire->kind)}});
    }
  }
  return wires;
}

double first_event(const std::vector<RankTimeline>& ranks) {
  std::optional<double> first;
  for (const RankTimeline& rank : ranks) {
    for (const Event& event : rank.events)
      first = std::min(first.value_or(event.start), event.start);
  }
  return first.value_or(0);
}

void shift(RankTimeline& rank, double origin) {
  for (Event& event : rank.events) {
    event.start -= origin;
    event.end -= origin;
    if (event.issued) *event.issued -= origin;
  }
  for (MemorySample& sample : rank.memory) sample.time -= origin;
  if (rank.steady_start) *rank.steady_start -= origin;
  if (rank.steady_end) *rank.steady_end -= origin;
}

}  // namespace

Timeline merge_timelines(std::vector<RankTimeline> ranks, const Mesh& mesh,
                         std::optional<double> origin) {
  std::sort(ranks.begin(), ranks.end(),
            [](const RankTimeline& a, const RankTimeline& b) { return a.rank < b.rank; });
  for (const RankTimeline& rank : ranks) {
    weft_assert(rank.rank.value >= 0 && rank.rank.value < mesh.world_size(), "rank in the mesh");
  }
  const double zero = origin ? *origin : first_event(ranks);

  const std::vector<RecordedWire> wires = recorded_wires(ranks, mesh);
  std::map<Exchange, double> last_start;
  for (const auto& [event, exchange] : wires) {
    const auto [at, is_new] = last_start.try_emplace(exchange, event->start);
    if (!is_new) at->second = std::max(at->second, event->start);
  }
  for (const auto& [event, exchange] : wires) {
    event->issued = event->start;
    event->end = std::max(event->end, event->start);
    event->start = std::min(last_start.at(exchange), event->end);
  }

  double end = 0;
  for (RankTimeline& rank : ranks) {
    end = std::max(end, rank.end - zero);
    shift(rank, zero);
    sort_events(rank.events);
    for (const Event& event : rank.events) end = std::max(end, event.end);
  }
  for (RankTimeline& rank : ranks) rank.end = end;
  return {"ms", std::move(ranks)};
}

}  // namespace weft
