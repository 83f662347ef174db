#include "runtime/executor.h"

#include <utility>

#include "base/error.h"
#include "comm/current_action.h"
#include "schedule/text.h"

namespace weft {
namespace {

struct WireUnderWay {
  WorkPtr work;
  at::Tensor arriving;  // the buffer that the wire fills; undefined for a send
  TimePoint started;
};

// The edge, direction and sending end of a hand-over wire.
struct HandOverKey {
  int edge;
  Direction direction;
  bool sends;
};

HandOverKey hand_over_key(const Wire& wire) {
  switch (wire.kind) {
    case WireKind::SendForward:
      return {wire.stage.value, Direction::Forward, true};
    case WireKind::RecvForward:
      return {wire.stage.value - 1, Direction::Forward, false};
    case WireKind::SendBackward:
      return {wire.stage.value - 1, Direction::Backward, true};
    case WireKind::RecvBackward:
      return {wire.stage.value, Direction::Backward, false};
    default:
      throw InternalError("not a hand-over: " + print(Step(StartWire{wire})));
  }
}

class Execution {
 public:
  Execution(const RankContext& context, MemoryCounter& memory)
      : context_(context), memory_(memory) {}

  void run(const Step& step) {
    step_ = &step;
    std::visit([this](const auto& s) { handle(s); }, step);
    ++index_;
  }

  Recording finish() {
    weft_assert(under_way_.empty(), "every wire that was started was waited for");
    return std::move(recording_);
  }

 private:
  using Kind = RecordedEvent::Kind;

  void handle(const RunForward& step) {
    const TimePoint start = now();
    stage(step.segment.stage).run_forward(step.segment);
    record(Kind::Work, start, now());
  }

  void handle(const RunDgrad& step) {
    const TimePoint start = now();
    stage(step.segment.stage).run_dgrad(step.segment);
    record(Kind::Work, start, now());
  }

  void handle(const RunWgrad& step) {
    const TimePoint start = now();
    stage(step.segment.stage).run_wgrad(step.segment);
    record(Kind::Work, start, now());
  }

  void handle(const StartWire& step) {
    const TimePoint started = now();
    WireUnderWay wire = start(step.wire);
    wire.started = started;
    under_way_.emplace(step.wire, std::move(wire));
  }

  void handle(const WaitWire& step) {
    const TimePoint waited_from = now();
    auto node = under_way_.extract(step.wire);
    weft_assert(!node.empty(), "a wire is waited for after its start");
    WireUnderWay& wire = node.mapped();
    set_current_action(print(*step_));
    wire.work->wait();
    const TimePoint done = now();
    deliver(step.wire, std::move(wire.arriving));
    record(Kind::Wait, waited_from, done);
    record(Kind::Wire, wire.started, wire.work->completed());
  }

  void handle(const Release& step) {
    if (is_all_to_all(step.wire.kind) || step.wire.kind == WireKind::Counts) {
      stage(step.wire.stage).release(step.wire);
      return;
    }
    const HandOverKey key = hand_over_key(step.wire);
    context_.hand_over->take(key.edge, step.wire.micro_batch, key.direction);
  }

  WireUnderWay start(const Wire& wire) {
    if (is_gradient_wire(wire.kind)) return {context_.sum_gradients(wire), {}, {}};
    if (is_all_to_all(wire.kind)) return start_exchange(wire, *context_.groups->ep);
    if (wire.kind == WireKind::Counts) return start_exchange(wire, *context_.groups->counts);
    return start_hand_over(wire);
  }

  WireUnderWay start_exchange(const Wire& wire, Group& group) {
    StageRunner& runner = stage(wire.stage);
    const at::Tensor source = runner.source(wire);
    const Splits splits = runner.splits(wire);
    std::vector<std::int64_t> shape = source.sizes().vec();
    shape[0] = 0;
    for (std::int64_t rows : splits.output) shape[0] += rows;
    at::Tensor arriving = at::empty(shape, source.options());
    return {group.all_to_all(arriving, source, splits.output, splits.input), arriving, {}};
  }

  WireUnderWay start_hand_over(const Wire& wire) {
    const HandOverKey key = hand_over_key(wire);
    Group& group = *context_.groups->edges.at({key.edge, key.direction});
    const int peer = 1 - group.rank();
    if (key.sends) {
      const at::Tensor leaving =
          context_.hand_over->peek(key.edge, wire.micro_batch, key.direction);
      return {group.send(leaving, peer, wire.micro_batch.value), {}, {}};
    }
    at::Tensor arriving = context_.new_hidden();
    return {group.recv(arriving, peer, wire.micro_batch.value), arriving, {}};
  }

  void deliver(const Wire& wire, at::Tensor arriving) {
    if (!arriving.defined()) return;
    if (is_all_to_all(wire.kind) || wire.kind == WireKind::Counts) {
      stage(wire.stage).deliver(wire, std::move(arriving));
      return;
    }
    const HandOverKey key = hand_over_key(wire);
    context_.hand_over->put(key.edge, wire.micro_batch, key.direction, std::move(arriving));
  }

  StageRunner& stage(Stage stage) { return *context_.stages->at(stage); }

  void record(Kind kind, TimePoint start, TimePoint end) {
    recording_.events.push_back({index_, kind, nanoseconds(start), nanoseconds(end)});
    if (kind == Kind::Work) recording_.memory.push_back({nanoseconds(end), memory_.bytes()});
  }

  static std::int64_t nanoseconds(TimePoint time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  }

  static TimePoint now() { return std::chrono::steady_clock::now(); }

  const RankContext& context_;
  MemoryCounter& memory_;
  const Step* step_ = nullptr;
  std::int32_t index_ = 0;
  std::map<Wire, WireUnderWay> under_way_;
  Recording recording_;
};

}  // namespace

Recording execute(const RankSteps& steps, const RankContext& context, MemoryCounter& memory) {
  Execution execution(context, memory);
  for (const Step& step : steps.steps) execution.run(step);
  set_current_action("between steps");
  return execution.finish();
}

}  // namespace weft
