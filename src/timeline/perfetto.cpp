#include "timeline/perfetto.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "timeline/live_chunks.h"
#include "timeline/metrics.h"
#include "timeline/tracks.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicrosecondsPerUnit = 1000;

const char* category_of(const Event& event) {
  return event.lane == Lane::Compute ? work_name(event) : "wire";
}

class Writer {
 public:
  std::string write(const Timeline& timeline) {
    for (const RankTimeline& rank : timeline.ranks) write_rank(rank);
    write_flows(timeline);
    return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + lines_ + "\n]}\n";
  }

 private:
  void put(const Json& event) { lines_ += (lines_.empty() ? "" : ",\n") + event.dump(); }

  void name(const char* what, int process, int track, const std::string& text, int order) {
    const std::string sort =
        std::string(what) == "process_name" ? "process_sort_index" : "thread_sort_index";
    put({{"ph", "M"},
         {"name", what},
         {"pid", process},
         {"tid", track},
         {"args", {{"name", text}}}});
    put({{"ph", "M"},
         {"name", sort},
         {"pid", process},
         {"tid", track},
         {"args", {{"sort_index", order}}}});
  }

  void slice(int process, int track, const std::string& text, const char* category, double start,
             double end, Json args = Json::object()) {
    put({{"ph", "X"},
         {"name", text},
         {"cat", category},
         {"pid", process},
         {"tid", track},
         {"ts", start * kMicrosecondsPerUnit},
         {"dur", (end - start) * kMicrosecondsPerUnit},
         {"args", std::move(args)}});
  }

  void write_rank(const RankTimeline& rank) {
    const int process = rank.rank.value;
    name("process_name", process, 0, name_of(rank), process);
    std::map<const Event*, const Event*> waited;
    const auto wires = waited_wires(rank);
    for (std::size_t i = 0; i < rank.events.size(); ++i) waited[&rank.events[i]] = wires[i];
    int track_id = 1;
    for (const Track& track : tracks_of(rank)) {
      name("thread_name", process, track_id, track.name, track_id);
      for (const Event* event : track.events) {
        track_ids_[event] = track_id;
        write_event(process, track_id, *event, waited[event]);
      }
      ++track_id;
    }
    for (const MemorySample& sample : rank.memory) {
      counter("activation bytes", "bytes", process, sample.time, sample.bytes);
    }
    if (!rank.memory.empty()) return;
    for (const LiveSample& sample : live_chunks(rank)) {
      counter("live chunks", "chunks", process, sample.time, sample.chunks);
    }
  }

  void counter(const char* name, const char* unit, int process, double time, std::int64_t value) {
    put({{"ph", "C"},
         {"name", name},
         {"pid", process},
         {"ts", time * kMicrosecondsPerUnit},
         {"args", {{unit, value}}}});
  }

  void write_event(int process, int track, const Event& event, const Event* wire) {
    const std::string text = short_text(event);
    if (event.lane == Lane::Compute && !is_work(event)) {
      const auto [start, end] =
          wire == nullptr ? std::pair(event.end, event.end) : exposed_part(event, *wire);
      if (start > event.start) {
        slice(process, track, "bubble: " + text, "bubble", event.start, start);
      }
      if (end > start) slice(process, track, "exposed: " + text, "exposed", start, end);
      if (event.end > end) slice(process, track, "bubble: " + text, "bubble", end, event.end);
      return;
    }
    Json args = Json::object();
    if (event.issued) args["started_here_us"] = *event.issued * kMicrosecondsPerUnit;
    slice(process, track, text, category_of(event), event.start, event.end, std::move(args));
  }

  // Sends and receives of one message, matched within the replicas in order of rank.
  void write_flows(const Timeline& timeline) {
    using Message = std::tuple<bool, int, int>;  // forward, sending stage, micro-batch
    std::map<Message, std::vector<std::pair<const Event*, int>>> sends, receives;
    for (const RankTimeline& rank : timeline.ranks) {
      for (const Event& event : rank.events) {
        const Wire* wire = event.lane == Lane::Compute ? nullptr : wire_of(event);
        if (wire == nullptr) continue;
        const int stage = wire->stage.value;
        const int micro_batch = wire->micro_batch.value;
        const std::pair entry(&event, rank.rank.value);
        if (wire->kind == WireKind::SendForward) sends[{true, stage, micro_batch}].push_back(entry);
        if (wire->kind == WireKind::SendBackward) {
          sends[{false, stage, micro_batch}].push_back(entry);
        }
        if (wire->kind == WireKind::RecvForward) {
          receives[{true, stage - 1, micro_batch}].push_back(entry);
        }
        if (wire->kind == WireKind::RecvBackward) {
          receives[{false, stage + 1, micro_batch}].push_back(entry);
        }
      }
    }
    int id = 1;
    for (const auto& [message, from] : sends) {
      const auto to = receives.find(message);
      if (to == receives.end()) continue;
      for (std::size_t i = 0; i < std::min(from.size(), to->second.size()); ++i, ++id) {
        flow("s", id, from[i], from[i].first->start);
        flow("f", id, to->second[i], to->second[i].first->end);
      }
    }
  }

  void flow(const char* phase, int id, const std::pair<const Event*, int>& at, double time) {
    put({{"ph", phase},
         {"bp", "e"},
         {"name", "hand-over"},
         {"cat", "hand-over"},
         {"id", id},
         {"pid", at.second},
         {"tid", track_ids_.at(at.first)},
         {"ts", time * kMicrosecondsPerUnit}});
  }

  std::string lines_;
  std::map<const Event*, int> track_ids_;
};

}  // namespace

std::string print_perfetto(const Timeline& timeline) { return Writer().write(timeline); }

}  // namespace weft
