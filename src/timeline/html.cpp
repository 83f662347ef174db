#include "timeline/html.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "timeline/live_chunks.h"
#include "timeline/metrics.h"
#include "timeline/needs.h"
#include "timeline/palette.h"
#include "timeline/tracks.h"

namespace weft {

extern const char* const kTimelinePage;  // page.html, by way of page.cpp.in

namespace {

using Json = nlohmann::ordered_json;

// What the page needs to see of a time; keeps its data small.
double rounded(double time) { return std::round(time * 1e6) / 1e6; }

Json rounded_or_null(const std::optional<double>& value) {
  return value ? Json(rounded(*value)) : Json(nullptr);
}

// [mark, name, start, end] and, where there is more to say, an object: `issued`, when this rank
// started the wire; `wire`, when the wire that is waited for was under way; `needs`, what a cell
// needs last: its name, end and rank.
void add(Json& events, char mark, const std::string& name, double start, double end,
         Json more = nullptr) {
  Json event = {std::string(1, mark), name, rounded(start), rounded(end)};
  if (!more.is_null()) event.push_back(std::move(more));
  events.push_back(std::move(event));
}

// A wait in its parts, split where its wire got under way: b is bubble, x exposed.
void add_wait(Json& events, const Event& wait, const Event* wire) {
  const std::string name = event_text(wait);
  const auto [start, end] =
      wire == nullptr ? std::pair(wait.end, wait.end) : exposed_part(wait, *wire);
  Json more = nullptr;
  if (wire != nullptr) more["wire"] = Json::array({rounded(wire->start), rounded(wire->end)});
  if (start > wait.start) add(events, 'b', name, wait.start, start, more);
  if (end > start) add(events, 'x', name, start, end, more);
  if (wait.end > end) add(events, 'b', name, end, wait.end, more);
}

Json more_of(const Event& event, const Need& need) {
  Json more = nullptr;
  if (event.issued) more["issued"] = rounded(*event.issued);
  if (need.event != nullptr) {
    more["needs"] =
        Json::array({short_text(*need.event), rounded(need.event->end), need.rank.value});
  }
  return more;
}

Json tracks_to_json(const RankTimeline& rank, const std::vector<Need>& needs) {
  std::map<const Event*, std::size_t> index;
  for (std::size_t i = 0; i < rank.events.size(); ++i) index[&rank.events[i]] = i;
  const std::vector<const Event*> waited = waited_wires(rank);
  Json tracks = Json::array();
  for (const Track& track : tracks_of(rank)) {
    Json events = Json::array();
    for (const Event* event : track.events) {
      const std::size_t i = index.at(event);
      if (event->lane == Lane::Compute && !is_work(*event)) {
        add_wait(events, *event, waited[i]);
      } else {
        add(events, mark_of(*event), short_text(*event), event->start, event->end,
            more_of(*event, needs[i]));
      }
    }
    const char* lane = track.lane == Lane::Compute ? "compute" : "wire";
    tracks.push_back({{"name", track.name}, {"lane", lane}, {"events", std::move(events)}});
  }
  return tracks;
}

// Activation bytes where they were recorded, else live chunks.
Json memory_to_json(const RankTimeline& rank) {
  Json samples = Json::array();
  for (const MemorySample& sample : rank.memory) {
    samples.push_back(Json::array({rounded(sample.time), sample.bytes}));
  }
  if (!samples.empty()) return {{"unit", "bytes"}, {"samples", std::move(samples)}};
  for (const LiveSample& sample : live_chunks(rank)) {
    samples.push_back(Json::array({rounded(sample.time), sample.chunks}));
  }
  return {{"unit", "chunks"}, {"samples", std::move(samples)}};
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
          {"hidden", rounded_or_null(hidden)},
          {"p2p_exposed", rounded(metrics.p2p_exposed)},
          {"counts_exposed", rounded(metrics.counts_exposed)},
          {"reduce_exposed", rounded(metrics.reduce_exposed)}};
}

bool has_wires(const Timeline& timeline) {
  for (const RankTimeline& rank : timeline.ranks) {
    for (const Event& event : rank.events) {
      if (event.lane != Lane::Compute) return true;
    }
  }
  return false;
}

Json stages_to_json(const RankTimeline& rank) {
  Json stages = Json::array();
  for (const Stage stage : stages_of(rank)) stages.push_back(stage.value);
  return stages;
}

Json page_timeline_to_json(const PageTimeline& shown) {
  const Timeline& timeline = shown.timeline;
  const TimelineMetrics metrics = measure(timeline);
  const std::vector<std::vector<Need>> needs = last_needs(timeline);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    Json steady = nullptr;
    if (rank.steady_start && rank.steady_end) {
      steady = Json::array({rounded(*rank.steady_start), rounded(*rank.steady_end)});
    }
    ranks.push_back({{"name", name_of(rank)},
                     {"pipeline_rank", rank.pp_rank.value},
                     {"stages", stages_to_json(rank)},
                     {"end", rounded(rank.end)},
                     {"steady", std::move(steady)},
                     {"metrics", metrics_to_json(metrics.ranks[i])},
                     {"tracks", tracks_to_json(rank, needs[i])},
                     {"memory", memory_to_json(rank)}});
  }
  return {{"label", shown.label},
          {"plan", shown.plan},
          {"unit", timeline.unit},
          {"makespan", rounded(metrics.makespan)},
          {"wires", has_wires(timeline)},
          {"hidden_steady", rounded_or_null(metrics.all_to_all_hidden_steady)},
          {"hidden_outside", rounded_or_null(metrics.all_to_all_hidden_outside)},
          {"ranks", std::move(ranks)}};
}

Json palette_to_json() {
  Json colours;
  for (const PaletteRow& row : palette()) {
    colours[std::string(row.name)] = Json::array({row.even, row.odd, row.line});
  }
  colours["exposed"] = kExposedColour;
  colours["bubble"] = Json::array({kBubbleColour, kBubbleLine});
  colours["ink"] = kInkColour;
  colours["soft"] = kSoftInkColour;
  return colours;
}

Json page_data(const Page& page) {
  Json timelines = Json::array(), tables = Json::array();
  for (const PageTimeline& shown : page.timelines)
    timelines.push_back(page_timeline_to_json(shown));
  for (const Table& table : page.tables) {
    tables.push_back({{"title", table.title},
                      {"note", table.note},
                      {"columns", table.columns},
                      {"rows", table.rows}});
  }
  return {{"title", page.title},
          {"palette", palette_to_json()},
          {"timelines", std::move(timelines)},
          {"tables", std::move(tables)}};
}

// JSON that can stand inside <script>; a title may hold the name of a file, in any bytes.
std::string script_text(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string print_html(const Page& page) {
  const std::string slot = "/*DATA*/null";
  std::string text = kTimelinePage;
  const std::size_t at = text.find(slot);
  weft_assert(at != std::string::npos, "page.html has a place for its data");
  return text.replace(at, slot.size(), script_text(page_data(page)));
}

}  // namespace weft
