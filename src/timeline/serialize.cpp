#include "timeline/serialize.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

// A label is [tag, kind, stage, layer, micro-batch]; cells have no layer, a pair has two actions.
// Tags 0 and 1 are cells, from 2 on a Step's index + 2.
constexpr int kActionTag = 0;
constexpr int kPairTag = 1;
constexpr int kStepTag = 2;

void put(Json& out, const Action& action) {
  out.push_back(static_cast<int>(action.kind));
  out.push_back(action.stage.value);
  out.push_back(action.micro_batch.value);
}

// Segment or Wire.
template <class Part>
void put(Json& out, const Part& part) {
  out.push_back(static_cast<int>(part.kind));
  out.push_back(part.stage.value);
  out.push_back(part.layer);
  out.push_back(part.micro_batch.value);
}

const Segment& part_of(const RunForward& step) { return step.segment; }
const Segment& part_of(const RunDgrad& step) { return step.segment; }
const Segment& part_of(const RunWgrad& step) { return step.segment; }
const Wire& part_of(const StartWire& step) { return step.wire; }
const Wire& part_of(const WaitWire& step) { return step.wire; }
const Wire& part_of(const Release& step) { return step.wire; }

Json label_to_json(const EventLabel& label) {
  Json out = Json::array();
  if (const Cell* cell = std::get_if<Cell>(&label)) {
    if (const auto* pair = std::get_if<ActionPair>(cell)) {
      out.push_back(kPairTag);
      put(out, pair->forward);
      put(out, pair->backward);
    } else {
      out.push_back(kActionTag);
      put(out, std::get<Action>(*cell));
    }
    return out;
  }
  const Step& step = std::get<Step>(label);
  out.push_back(kStepTag + static_cast<int>(step.index()));
  std::visit([&out](const auto& s) { put(out, part_of(s)); }, step);
  return out;
}

template <class Kind>
Kind kind_from(const Json& value, Kind last) {
  const int number = value.get<int>();
  if (number < 0 || number > static_cast<int>(last)) throw std::out_of_range("kind");
  return static_cast<Kind>(number);
}

Action action_from(const Json& label, std::size_t at) {
  return {kind_from(label.at(at), ActionKind::ReduceGrad), Stage(label.at(at + 1).get<int>()),
          MicroBatch(label.at(at + 2).get<int>())};
}

Segment segment_from(const Json& label) {
  return {kind_from(label.at(1), SegmentKind::Identity), Stage(label.at(2).get<int>()),
          label.at(3).get<int>(), MicroBatch(label.at(4).get<int>())};
}

Wire wire_from(const Json& label) {
  return {kind_from(label.at(1), WireKind::ReduceGrad), Stage(label.at(2).get<int>()),
          label.at(3).get<int>(), MicroBatch(label.at(4).get<int>())};
}

EventLabel label_from(const Json& label) {
  switch (label.at(0).get<int>()) {
    case kActionTag:
      return Cell(action_from(label, 1));
    case kPairTag:
      return Cell(ActionPair{action_from(label, 1), action_from(label, 4)});
    case kStepTag + 0:
      return Step(RunForward{segment_from(label)});
    case kStepTag + 1:
      return Step(RunDgrad{segment_from(label)});
    case kStepTag + 2:
      return Step(RunWgrad{segment_from(label)});
    case kStepTag + 3:
      return Step(StartWire{wire_from(label)});
    case kStepTag + 4:
      return Step(WaitWire{wire_from(label)});
    case kStepTag + 5:
      return Step(Release{wire_from(label)});
    default:
      throw std::out_of_range("label");
  }
}

Json optional_to_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> optional_from(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

Json to_json(const RankTimeline& rank) {
  Json events = Json::array();
  for (const Event& event : rank.events) {
    events.push_back({static_cast<int>(event.lane), label_to_json(event.label), event.start,
                      event.end, optional_to_json(event.issued)});
  }
  Json memory = Json::array();
  for (const MemorySample& sample : rank.memory) memory.push_back({sample.time, sample.bytes});
  return {{"rank", rank.rank.value},
          {"pp_rank", rank.pp_rank.value},
          {"end", rank.end},
          {"events", std::move(events)},
          {"memory", std::move(memory)},
          {"steady", {optional_to_json(rank.steady_start), optional_to_json(rank.steady_end)}}};
}

RankTimeline rank_from(const Json& json) {
  RankTimeline rank;
  rank.rank = Rank(json.at("rank").get<int>());
  rank.pp_rank = Rank(json.at("pp_rank").get<int>());
  rank.end = json.at("end").get<double>();
  for (const Json& event : json.at("events")) {
    rank.events.push_back({kind_from(event.at(0), Lane::Swap), label_from(event.at(1)),
                           event.at(2).get<double>(), event.at(3).get<double>(),
                           optional_from(event.at(4))});
  }
  for (const Json& sample : json.at("memory")) {
    rank.memory.push_back({sample.at(0).get<double>(), sample.at(1).get<std::int64_t>()});
  }
  rank.steady_start = optional_from(json.at("steady").at(0));
  rank.steady_end = optional_from(json.at("steady").at(1));
  return rank;
}

Json to_json(const Timeline& timeline) {
  Json ranks = Json::array();
  for (const RankTimeline& rank : timeline.ranks) ranks.push_back(to_json(rank));
  return {{"format", kFormat}, {"unit", timeline.unit}, {"ranks", std::move(ranks)}};
}

template <class Parse>
Timeline timeline_from(const std::string& source, Parse parse) {
  try {
    const Json json = parse();
    if (json.at("format").get<int>() != kFormat) throw std::out_of_range("format is not 1");
    Timeline timeline;
    timeline.unit = json.at("unit").get<std::string>();
    for (const Json& rank : json.at("ranks")) timeline.ranks.push_back(rank_from(rank));
    return timeline;
  } catch (const std::exception& error) {
    throw UserError(Violation{"timeline-file", source,
                              std::string("not a timeline as weft writes it: ") + error.what()});
  }
}

}  // namespace

std::string timeline_to_cbor(const Timeline& timeline) {
  std::string bytes;
  Json::to_cbor(to_json(timeline), bytes);
  return bytes;
}

std::string timeline_to_json(const Timeline& timeline) { return to_json(timeline).dump() + "\n"; }

Timeline timeline_from_cbor(std::string_view bytes, const std::string& source) {
  return timeline_from(source, [&] { return Json::from_cbor(bytes.begin(), bytes.end()); });
}

Timeline timeline_from_json(std::string_view text, const std::string& source) {
  return timeline_from(source, [&] { return Json::parse(text.begin(), text.end()); });
}

}  // namespace weft
