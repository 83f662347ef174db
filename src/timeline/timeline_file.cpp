#include "timeline/timeline_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "schedule/text.h"
#include "timeline/perfetto.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr double kLongest = 1e15;  // no clock counts so far; keeps sums finite

// --- writing ---------------------------------------------------------------------------------

Json optional_to_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// [lane, label, start, end] and, of a wire, when this rank started it.
Json to_json(const Event& event) {
  Json json = {static_cast<int>(event.lane),
               std::visit([](const auto& label) { return print(label); }, event.label), event.start,
               event.end};
  if (event.issued) json.push_back(*event.issued);
  return json;
}

Json to_json(const RankTimeline& rank) {
  Json events = Json::array();
  for (const Event& event : rank.events) events.push_back(to_json(event));
  Json memory = Json::array();
  for (const MemorySample& sample : rank.memory) {
    memory.push_back(Json::array({sample.time, sample.bytes}));
  }
  return {{"rank", rank.rank.value},
          {"pipeline_rank", rank.pp_rank.value},
          {"end", rank.end},
          {"steady",
           Json::array({optional_to_json(rank.steady_start), optional_to_json(rank.steady_end)})},
          {"events", std::move(events)},
          {"memory", std::move(memory)}};
}

Json to_json(const Timeline& timeline) {
  Json ranks = Json::array();
  for (const RankTimeline& rank : timeline.ranks) ranks.push_back(to_json(rank));
  return {{"unit", timeline.unit}, {"ranks", std::move(ranks)}};
}

Json to_json(const TimelineFile& file) {
  Json json = {{"format", kFormat}, {"title", file.title}};
  if (file.step) json["step"] = *file.step;
  json["timeline"] = to_json(file.timeline);
  if (file.predicted) json["predicted"] = to_json(*file.predicted);
  return json;
}

// A title may hold the name of a file, in any bytes.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// --- reading ---------------------------------------------------------------------------------

// What does not fit, and where: `.ranks[2].events[17]`.
struct Misfit {
  std::string place;
  std::string message;
};

template <class Read>
auto read_at(const std::string& place, Read read) {
  try {
    return read();
  } catch (const Misfit& misfit) {
    throw Misfit{place + misfit.place, misfit.message};
  }
}

const Json& member(const Json& json, const std::string& key) {
  if (!json.is_object()) throw Misfit{"", "an object is expected"};
  const auto found = json.find(key);
  if (found == json.end()) throw Misfit{"", "the key " + key + " is missing"};
  return *found;
}

template <class Read>
auto read_member(const Json& json, const std::string& key, Read read) {
  const Json& value = member(json, key);
  return read_at("." + key, [&] { return read(value); });
}

template <class Read>
auto read_list(const Json& json, const std::string& key, Read read) {
  std::vector<std::decay_t<decltype(read(json))>> values;
  const Json& list = member(json, key);
  if (!list.is_array()) throw Misfit{"." + key, "a list is expected"};
  values.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    values.push_back(
        read_at("." + key + "[" + std::to_string(i) + "]", [&] { return read(list[i]); }));
  }
  return values;
}

void require_list(const Json& json, std::size_t least, std::size_t most) {
  if (json.is_array() && json.size() >= least && json.size() <= most) return;
  throw Misfit{"", "a list of " + std::to_string(least) +
                       (most > least ? " or " + std::to_string(most) : "") + " is expected"};
}

double read_time(const Json& json) {
  if (!json.is_number()) throw Misfit{"", "a number is expected"};
  const double time = json.get<double>();
  if (!(std::abs(time) <= kLongest)) throw Misfit{"", "no time: " + json.dump()};
  return time;
}

std::optional<double> read_optional_time(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(read_time(json));
}

std::int64_t read_whole(const Json& json) {
  if (!json.is_number_integer()) throw Misfit{"", "a whole number is expected"};
  return json.get<std::int64_t>();
}

Rank read_rank(const Json& json) {
  const std::int64_t rank = read_whole(json);
  if (rank < 0 || rank > 1 << 24) throw Misfit{"", "no rank: " + json.dump()};
  return Rank(static_cast<int>(rank));
}

std::string read_text(const Json& json) {
  if (!json.is_string()) throw Misfit{"", "a text is expected"};
  return json.get<std::string>();
}

Lane read_lane(const Json& json) {
  const std::int64_t lane = read_whole(json);
  if (lane < 0 || lane > static_cast<int>(Lane::Swap)) throw Misfit{"", "no lane: " + json.dump()};
  return static_cast<Lane>(lane);
}

// A step has a colon or a verb; a cell has neither.
EventLabel read_label(const Json& json) {
  const std::string text = read_text(json);
  const bool is_step = text.find(':') != std::string::npos || text.starts_with("start(") ||
                       text.starts_with("wait(") || text.starts_with("release(");
  try {
    return is_step ? EventLabel(parse_step(text)) : EventLabel(parse_cell(text));
  } catch (const UserError& error) {
    const Violation& violation = error.violations().front();
    throw Misfit{"", violation.found + ": " + violation.message};
  }
}

Event read_event(const Json& json) {
  require_list(json, 4, 5);
  Event event{read_lane(json[0]), read_label(json[1]), read_time(json[2]), read_time(json[3]), {}};
  if (json.size() == 5) event.issued = read_time(json[4]);
  if (event.end < event.start) throw Misfit{"", "ends before it starts"};
  return event;
}

MemorySample read_sample(const Json& json) {
  require_list(json, 2, 2);
  return {read_time(json[0]), read_whole(json[1])};
}

RankTimeline read_rank_timeline(const Json& json) {
  RankTimeline rank;
  rank.rank = read_member(json, "rank", read_rank);
  rank.pp_rank = read_member(json, "pipeline_rank", read_rank);
  rank.end = read_member(json, "end", read_time);
  rank.events = read_list(json, "events", read_event);
  rank.memory = read_list(json, "memory", read_sample);
  read_member(json, "steady", [&rank](const Json& steady) {
    require_list(steady, 2, 2);
    rank.steady_start = read_optional_time(steady[0]);
    rank.steady_end = read_optional_time(steady[1]);
    return true;
  });
  return rank;
}

Timeline read_timeline(const Json& json) {
  Timeline timeline;
  timeline.unit = read_member(json, "unit", read_text);
  timeline.ranks = read_list(json, "ranks", read_rank_timeline);
  return timeline;
}

TimelineFile read_file_value(const Json& json) {
  if (read_member(json, "format", read_whole) != kFormat) {
    throw Misfit{".format", "this weft reads format " + std::to_string(kFormat)};
  }
  TimelineFile file;
  file.title = read_member(json, "title", read_text);
  if (json.contains("step")) file.step = read_member(json, "step", read_whole);
  file.timeline = read_member(json, "timeline", read_timeline);
  if (json.contains("predicted")) file.predicted = read_member(json, "predicted", read_timeline);
  return file;
}

// The library's words, without their number in brackets.
std::string reason_of(const Json::exception& error) {
  const std::string text = error.what();
  return text.substr(text.find("] ") == std::string::npos ? 0 : text.find("] ") + 2);
}

[[noreturn]] void refuse(const std::string& found, const std::string& message) {
  throw UserError(Violation{"timeline-file", found, message});
}

}  // namespace

std::string print_timeline_file(const TimelineFile& file) {
  std::string text = print_perfetto(file.timeline);
  const std::string end = "\n]}\n";
  weft_assert(text.ends_with(end), "the trace ends with its events");
  text.resize(text.size() - end.size());
  return text + "\n],\n\"weft\": " + dump(to_json(file)) + "}\n";
}

TimelineFile parse_timeline_file(std::string_view text, const std::string& source) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    refuse(source, "not JSON: " + reason_of(error));
  }
  if (!json.is_object() || !json.contains("weft")) {
    refuse(source,
           "holds no timeline as weft writes it (--timeline FILE.json of `weft train` and `weft "
           "simulate`): the key weft is missing");
  }
  try {
    return read_at("weft", [&] { return read_file_value(json["weft"]); });
  } catch (const Misfit& misfit) {
    refuse(source + ": " + misfit.place, misfit.message);
  }
}

}  // namespace weft
