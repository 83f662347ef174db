#include "schedule/text.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

// Longer operations first: SEND_F begins with none of the others, but F, B, I, W are one letter.
constexpr std::array<std::pair<ActionKind, std::string_view>, 9> kOperations = {{
    {ActionKind::ReduceGrad, "REDUCE_GRAD"},
    {ActionKind::SendForward, "SEND_F"},
    {ActionKind::RecvForward, "RECV_F"},
    {ActionKind::SendBackward, "SEND_B"},
    {ActionKind::RecvBackward, "RECV_B"},
    {ActionKind::Forward, "F"},
    {ActionKind::Backward, "B"},
    {ActionKind::Dgrad, "I"},
    {ActionKind::Wgrad, "W"},
}};

constexpr std::array<std::pair<SegmentKind, std::string_view>, 10> kSegments = {{
    {SegmentKind::Embedding, "embedding"},
    {SegmentKind::Attention, "attention"},
    {SegmentKind::Mlp, "mlp"},
    {SegmentKind::SharedExpert, "shared_expert"},
    {SegmentKind::Experts, "experts"},
    {SegmentKind::Merge, "merge"},
    {SegmentKind::Head, "head"},
    {SegmentKind::MtpProjection, "mtp_projection"},
    {SegmentKind::MtpHead, "mtp_head"},
    {SegmentKind::Identity, "identity"},
}};

constexpr std::array<std::pair<WireKind, std::string_view>, 11> kWires = {{
    {WireKind::Counts, "counts"},
    {WireKind::Dispatch, "dispatch"},
    {WireKind::Combine, "combine"},
    {WireKind::CombineBackward, "combine_backward"},
    {WireKind::DispatchBackward, "dispatch_backward"},
    {WireKind::SendForward, "send_forward"},
    {WireKind::RecvForward, "recv_forward"},
    {WireKind::SendBackward, "send_backward"},
    {WireKind::RecvBackward, "recv_backward"},
    {WireKind::ReduceGrad, "reduce_grad"},
    {WireKind::GatherGrad, "gather_grad"},
}};

// Wires of a whole stage, written like the actions they come from.
constexpr std::array<std::pair<WireKind, ActionKind>, 4> kStageWires = {{
    {WireKind::SendForward, ActionKind::SendForward},
    {WireKind::RecvForward, ActionKind::RecvForward},
    {WireKind::SendBackward, ActionKind::SendBackward},
    {WireKind::RecvBackward, ActionKind::RecvBackward},
}};

// Wires of a bucket of gradients: `0REDUCE_GRAD.2`, the layer only where there is one.
constexpr std::array<std::pair<WireKind, std::string_view>, 2> kGradientWires = {{
    {WireKind::ReduceGrad, "REDUCE_GRAD"},
    {WireKind::GatherGrad, "GATHER_GRAD"},
}};

constexpr std::string_view kOverlap = "OVERLAP_F_B";

template <class Table, class Key>
auto value_of(const Table& table, Key key) -> std::optional<decltype(table[0].second)> {
  for (const auto& [k, v] : table) {
    if (k == key) return v;
  }
  return std::nullopt;
}

template <class Table, class Value>
auto key_of(const Table& table, Value value) -> std::optional<decltype(table[0].first)> {
  for (const auto& [k, v] : table) {
    if (v == value) return k;
  }
  return std::nullopt;
}

bool has_layer(SegmentKind kind) {
  return kind != SegmentKind::Embedding && kind != SegmentKind::Head &&
         kind != SegmentKind::Identity;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Digits only, and few enough to fit.
std::optional<int> skip_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') ++length;
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + length, value);
  if (length == 0 || result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

std::optional<Action> read_action(std::string_view text) {
  const auto stage = skip_number(text);
  if (!stage) return std::nullopt;
  for (const auto& [kind, name] : kOperations) {
    if (!skip(text, name)) continue;
    std::optional<int> micro_batch = 0;
    if (kind != ActionKind::ReduceGrad) micro_batch = skip_number(text);
    if (!micro_batch || !text.empty()) return std::nullopt;
    return Action{kind, Stage(*stage), MicroBatch(*micro_batch)};
  }
  return std::nullopt;
}

std::optional<ActionPair> read_pair(std::string_view text) {
  if (!skip(text, "(")) return std::nullopt;
  const auto middle = text.find(';');
  const auto end = text.find(')');
  if (middle == std::string_view::npos || end == std::string_view::npos || end < middle) {
    return std::nullopt;
  }
  if (text.substr(end + 1) != kOverlap) return std::nullopt;
  const auto first = read_action(trimmed(text.substr(0, middle)));
  const auto second = read_action(trimmed(text.substr(middle + 1, end - middle - 1)));
  if (!first || first->kind != ActionKind::Forward) return std::nullopt;
  if (!second || second->kind != ActionKind::Backward) return std::nullopt;
  return ActionPair{*first, *second};
}

// `0F3:NAME.2`, the layer only where there is one.
struct Place {
  Action action;
  std::string_view name;
  int layer = -1;
};

std::optional<Place> read_place(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto action = read_action(text.substr(0, colon));
  if (!action) return std::nullopt;
  std::string_view rest = text.substr(colon + 1);
  const auto dot = rest.find('.');
  Place place{*action, rest.substr(0, dot), -1};
  if (dot == std::string_view::npos) return place;
  rest.remove_prefix(dot + 1);
  const auto layer = skip_number(rest);
  if (!layer || !rest.empty()) return std::nullopt;
  place.layer = *layer;
  return place;
}

std::optional<Step> read_compute(std::string_view text) {
  const auto place = read_place(text);
  if (!place) return std::nullopt;
  const auto kind = key_of(kSegments, place->name);
  if (!kind || has_layer(*kind) != (place->layer >= 0)) return std::nullopt;
  const Segment segment{*kind, place->action.stage, place->layer, place->action.micro_batch};
  if (place->action.kind == ActionKind::Forward) return RunForward{segment};
  if (place->action.kind == ActionKind::Dgrad) return RunDgrad{segment};
  if (place->action.kind == ActionKind::Wgrad) return RunWgrad{segment};
  return std::nullopt;
}

bool is_backward_wire(WireKind kind) {
  return kind == WireKind::CombineBackward || kind == WireKind::DispatchBackward;
}

std::optional<Wire> read_gradient_wire(std::string_view text) {
  const auto stage = skip_number(text);
  if (!stage) return std::nullopt;
  for (const auto& [kind, name] : kGradientWires) {
    if (!skip(text, name)) continue;
    std::optional<int> layer = -1;
    if (!text.empty()) layer = skip(text, ".") ? skip_number(text) : std::nullopt;
    if (!layer || !text.empty()) return std::nullopt;
    return Wire{kind, Stage(*stage), *layer, MicroBatch(0)};
  }
  return std::nullopt;
}

std::optional<Wire> read_wire(std::string_view text) {
  if (const auto wire = read_gradient_wire(text)) return wire;
  if (const auto action = read_action(text)) {
    const auto kind = key_of(kStageWires, action->kind);
    if (!kind) return std::nullopt;
    return Wire{*kind, action->stage, -1, action->micro_batch};
  }
  const auto place = read_place(text);
  if (!place || place->layer < 0) return std::nullopt;
  const auto kind = key_of(kWires, place->name);
  if (!kind || value_of(kStageWires, *kind) || is_gradient_wire(*kind)) return std::nullopt;
  const auto direction = is_backward_wire(*kind) ? ActionKind::Backward : ActionKind::Forward;
  if (place->action.kind != direction) return std::nullopt;
  return Wire{*kind, place->action.stage, place->layer, place->action.micro_batch};
}

std::optional<Step> read_step(std::string_view text) {
  if (!text.ends_with(')')) return read_compute(text);
  text.remove_suffix(1);
  const bool start = skip(text, "start(");
  const bool wait = !start && skip(text, "wait(");
  const bool release = !start && !wait && skip(text, "release(");
  if (!start && !wait && !release) return std::nullopt;
  const auto wire = read_wire(text);
  if (!wire) return std::nullopt;
  if (start) return StartWire{*wire};
  if (wait) return WaitWire{*wire};
  return Release{*wire};
}

template <class Result>
Result require(const std::optional<Result>& result, std::string_view text, const char* expected) {
  if (result) return *result;
  throw UserError(
      {"schedule-text", "`" + std::string(text) + "`", std::string("expected ") + expected});
}

std::string print_place(char operation, Stage stage, MicroBatch micro_batch, std::string_view name,
                        int layer) {
  std::string text = std::to_string(stage.value) + operation + std::to_string(micro_batch.value);
  text.append(":").append(name);
  if (layer >= 0) text.append(".").append(std::to_string(layer));
  return text;
}

std::string print_segment(char operation, const Segment& segment) {
  return print_place(operation, segment.stage, segment.micro_batch, segment_name(segment.kind),
                     segment.layer);
}

struct StepPrinter {
  std::string operator()(const RunForward& step) const { return print_segment('F', step.segment); }
  std::string operator()(const RunDgrad& step) const { return print_segment('I', step.segment); }
  std::string operator()(const RunWgrad& step) const { return print_segment('W', step.segment); }
  std::string operator()(const StartWire& step) const { return "start(" + print(step.wire) + ")"; }
  std::string operator()(const WaitWire& step) const { return "wait(" + print(step.wire) + ")"; }
  std::string operator()(const Release& step) const { return "release(" + print(step.wire) + ")"; }
};

}  // namespace

std::string_view segment_name(SegmentKind kind) { return value_of(kSegments, kind).value(); }

std::string_view wire_name(WireKind kind) { return value_of(kWires, kind).value(); }

std::string print(const Action& action) {
  std::string text = std::to_string(action.stage.value);
  text += value_of(kOperations, action.kind).value();
  if (action.kind == ActionKind::ReduceGrad) return text;
  return text + std::to_string(action.micro_batch.value);
}

std::string print(const ActionPair& pair) {
  std::string text = "(";
  text.append(print(pair.forward)).append(";").append(print(pair.backward)).append(")");
  return text.append(kOverlap);
}

std::string print(const Cell& cell) {
  return std::visit([](const auto& value) { return print(value); }, cell);
}

std::string print(const Wire& wire) {
  if (const auto action = value_of(kStageWires, wire.kind)) {
    return print(Action{*action, wire.stage, wire.micro_batch});
  }
  if (const auto name = value_of(kGradientWires, wire.kind)) {
    std::string text = std::to_string(wire.stage.value);
    text.append(*name);
    return wire.layer < 0 ? text : text.append(".").append(std::to_string(wire.layer));
  }
  return print_place(is_backward_wire(wire.kind) ? 'B' : 'F', wire.stage, wire.micro_batch,
                     wire_name(wire.kind), wire.layer);
}

std::string print(const Step& step) { return std::visit(StepPrinter{}, step); }

Action parse_action(std::string_view text) {
  return require(read_action(trimmed(text)), text,
                 "<stage><op><micro-batch> with op one of F B I W SEND_F RECV_F SEND_B RECV_B, or "
                 "<stage>REDUCE_GRAD");
}

Cell parse_cell(std::string_view text) {
  const std::string_view inner = trimmed(text);
  if (inner.starts_with('(')) {
    return require(read_pair(inner), text,
                   "a pair like (7F4;0B0)OVERLAP_F_B, one forward and one backward");
  }
  return parse_action(text);
}

Wire parse_wire(std::string_view text) {
  return require(read_wire(trimmed(text)), text,
                 "a wire like 0F3:dispatch.2, 0B3:combine_backward.2, 0SEND_F3 or 0REDUCE_GRAD.2");
}

Step parse_step(std::string_view text) {
  return require(read_step(trimmed(text)), text,
                 "a step like 0F3:attention.2, 0I3:head, 0W3:experts.2, start(WIRE), wait(WIRE) or "
                 "release(WIRE)");
}

}  // namespace weft
