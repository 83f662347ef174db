#include "timeline/live_chunks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {
namespace {

// Of one (stage, micro-batch).
struct Life {
  std::optional<double> start;      // of the first forward
  std::optional<double> dgrad_end;  // of the last B, I or dgrad
  std::optional<double> wgrad_end;
};

class Lives {
 public:
  void add(const Event& event) {
    if (!is_work(event)) return;
    if (const Cell* cell = std::get_if<Cell>(&event.label)) {
      if (const auto* pair = std::get_if<ActionPair>(cell)) {
        add(pair->forward, event);
        add(pair->backward, event);
      } else {
        add(std::get<Action>(*cell), event);
      }
      return;
    }
    const Step& step = std::get<Step>(event.label);
    if (const auto* forward = std::get_if<RunForward>(&step)) {
      begin(forward->segment.stage, forward->segment.micro_batch, event);
    } else if (const auto* dgrad = std::get_if<RunDgrad>(&step)) {
      end(life(dgrad->segment.stage, dgrad->segment.micro_batch).dgrad_end, event);
    } else if (const auto* wgrad = std::get_if<RunWgrad>(&step)) {
      end(life(wgrad->segment.stage, wgrad->segment.micro_batch).wgrad_end, event);
    }
  }

  // Changes by time: ends before starts.
  std::vector<std::pair<double, int>> changes() const {
    std::vector<std::pair<double, int>> changes;
    for (const auto& [key, life] : lives_) {
      const std::optional<double> end = life.dgrad_end ? life.dgrad_end : life.wgrad_end;
      if (!life.start) continue;
      changes.emplace_back(*life.start, 1);
      if (end) changes.emplace_back(*end, -1);
    }
    std::sort(changes.begin(), changes.end());
    return changes;
  }

 private:
  Life& life(Stage stage, MicroBatch micro_batch) { return lives_[{stage, micro_batch}]; }

  void begin(Stage stage, MicroBatch micro_batch, const Event& event) {
    std::optional<double>& start = life(stage, micro_batch).start;
    start = std::min(start.value_or(event.start), event.start);
  }

  static void end(std::optional<double>& at, const Event& event) {
    at = std::max(at.value_or(event.end), event.end);
  }

  void add(const Action& action, const Event& event) {
    Life& of = life(action.stage, action.micro_batch);
    if (action.kind == ActionKind::Forward) begin(action.stage, action.micro_batch, event);
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::Dgrad) {
      end(of.dgrad_end, event);
    }
    if (action.kind == ActionKind::Wgrad) end(of.wgrad_end, event);
  }

  std::map<std::pair<Stage, MicroBatch>, Life> lives_;
};

}  // namespace

std::vector<LiveSample> live_chunks(const RankTimeline& rank) {
  Lives lives;
  for (const Event& event : rank.events) lives.add(event);
  std::vector<LiveSample> samples;
  int chunks = 0;
  for (const auto& [time, change] : lives.changes()) {
    chunks += change;
    if (!samples.empty() && samples.back().time == time) {
      samples.back().chunks = chunks;
    } else {
      samples.push_back({time, chunks});
    }
  }
  return samples;
}

}  // namespace weft
