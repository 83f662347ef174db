#include "timeline/html.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "timeline/metrics.h"
#include "timeline/tracks.h"

namespace weft {

extern const char* const kTimelinePage;  // page.html, by way of page.cpp.in

namespace {

using Json = nlohmann::ordered_json;

// What the page needs to see of a time; keeps its data small.
double rounded(double time) { return std::round(time * 1e6) / 1e6; }

Json optional_to_json(const std::optional<double>& value) {
  return value ? Json(rounded(*value)) : Json(nullptr);
}

// Letters of the page's KIND table.
std::string kind_of(const Cell& cell) {
  if (std::holds_alternative<ActionPair>(cell)) return "P";
  switch (std::get<Action>(cell).kind) {
    case ActionKind::Forward:
      return "F";
    case ActionKind::Dgrad:
      return "I";
    case ActionKind::Wgrad:
      return "W";
    default:
      return "B";
  }
}

std::string kind_of(WireKind wire) {
  switch (wire) {
    case WireKind::Dispatch:
    case WireKind::Combine:
    case WireKind::SendForward:
    case WireKind::RecvForward:
      return "f";
    case WireKind::CombineBackward:
    case WireKind::DispatchBackward:
    case WireKind::SendBackward:
    case WireKind::RecvBackward:
      return "r";
    case WireKind::Counts:
    case WireKind::ReduceGrad:
      return "c";
  }
  throw InternalError("wire kind without a colour");
}

std::string kind_of(const Event& event) {
  if (const Cell* cell = std::get_if<Cell>(&event.label)) return kind_of(*cell);
  if (const Wire* wire = wire_of(event)) return kind_of(wire->kind);
  const Step& step = std::get<Step>(event.label);
  if (std::holds_alternative<RunForward>(step)) return "F";
  return std::holds_alternative<RunDgrad>(step) ? "I" : "W";
}

void add(Json& events, const std::string& kind, const std::string& name, double start, double end,
         Json more = nullptr) {
  Json event = {kind, name, rounded(start), rounded(end)};
  if (!more.is_null()) event.push_back(std::move(more));
  events.push_back(std::move(event));
}

// A wait in its parts, split where its wire got under way.
void add_wait(Json& events, const Event& wait, const Event* wire) {
  const std::string name = event_text(wait);
  const auto [start, end] =
      wire == nullptr ? std::pair(wait.end, wait.end) : exposed_part(wait, *wire);
  const Json more =
      wire == nullptr ? Json(nullptr) : Json::array({rounded(wire->start), rounded(wire->end)});
  if (start > wait.start) add(events, "b", name, wait.start, start, more);
  if (end > start) add(events, "x", name, start, end, more);
  if (wait.end > end) add(events, "b", name, end, wait.end, more);
}

Json tracks_to_json(const RankTimeline& rank) {
  std::map<const Event*, const Event*> waited;
  const std::vector<const Event*> wires = waited_wires(rank);
  for (std::size_t i = 0; i < rank.events.size(); ++i) waited[&rank.events[i]] = wires[i];
  Json tracks = Json::array();
  for (const Track& track : tracks_of(rank)) {
    Json events = Json::array();
    for (const Event* event : track.events) {
      if (event->lane == Lane::Compute && !is_work(*event)) {
        add_wait(events, *event, waited.at(event));
      } else {
        add(events, kind_of(*event), short_text(*event), event->start, event->end,
            optional_to_json(event->issued));
      }
    }
    const char* lane = track.lane == Lane::Compute ? "compute" : "wire";
    tracks.push_back({{"name", track.name}, {"lane", lane}, {"events", std::move(events)}});
  }
  return tracks;
}

Json memory_to_json(const RankTimeline& rank) {
  Json samples = Json::array();
  for (const MemorySample& sample : rank.memory) {
    samples.push_back(Json::array({rounded(sample.time), sample.bytes}));
  }
  return samples;
}

Json metrics_to_json(const RankMetrics& metrics) {
  const std::optional<double> hidden =
      metrics.all_to_all > 0 ? std::optional(1 - metrics.all_to_all_exposed / metrics.all_to_all)
                             : std::nullopt;
  return {{"busy", rounded(metrics.busy)},
          {"idle", rounded(metrics.idle)},
          {"bubble", rounded(metrics.bubble)},
          {"exposed", rounded(metrics.exposed_communication)},
          {"all_to_all", rounded(metrics.all_to_all)},
          {"all_to_all_exposed", rounded(metrics.all_to_all_exposed)},
          {"hidden", optional_to_json(hidden)},
          {"p2p_exposed", rounded(metrics.p2p_exposed)},
          {"counts_exposed", rounded(metrics.counts_exposed)},
          {"reduce_exposed", rounded(metrics.reduce_exposed)}};
}

std::string name_of(const RankTimeline& rank) {
  std::string name = "rank " + std::to_string(rank.rank.value);
  if (rank.rank != rank.pp_rank) name += " (pp " + std::to_string(rank.pp_rank.value) + ")";
  return name;
}

bool has_wires(const Timeline& timeline) {
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (event.lane != Lane::Compute) return true;
    }
  }
  return false;
}

Json page_data(const Timeline& timeline, const std::string& title) {
  const TimelineMetrics metrics = measure(timeline);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    Json steady = nullptr;
    if (rank.steady_start && rank.steady_end) {
      steady = Json::array({rounded(*rank.steady_start), rounded(*rank.steady_end)});
    }
    ranks.push_back({{"name", name_of(rank)},
                     {"end", rounded(rank.end)},
                     {"steady", std::move(steady)},
                     {"metrics", metrics_to_json(metrics.ranks[i])},
                     {"tracks", tracks_to_json(rank)},
                     {"memory", memory_to_json(rank)}});
  }
  return {{"title", title},
          {"unit", timeline.unit},
          {"makespan", rounded(metrics.makespan)},
          {"wires", has_wires(timeline)},
          {"hidden_steady", optional_to_json(metrics.all_to_all_hidden_steady)},
          {"hidden_outside", optional_to_json(metrics.all_to_all_hidden_outside)},
          {"ranks", std::move(ranks)}};
}

// JSON that can stand inside <script>.
std::string script_text(const Json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string print_html(const Timeline& timeline, const std::string& title) {
  const std::string slot = "/*DATA*/null";
  std::string page = kTimelinePage;
  const std::size_t at = page.find(slot);
  weft_assert(at != std::string::npos, "page.html has a place for its data");
  return page.replace(at, slot.size(), script_text(page_data(timeline, title)));
}

}  // namespace weft
