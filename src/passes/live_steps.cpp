#include <variant>

#include "passes/cell_times.h"
#include "passes/live.h"

namespace weft {
namespace {

// What is still to come of one (stage, micro-batch).
struct ChunkLeft {
  int forwards = 0, dgrads = 0, wgrads = 0;
  bool has_dgrads = false;
  bool split = false;  // its backward is an I, and a W that comes later
  bool begun = false, backward_begun = false;

  // Of its B or I.
  int backwards() const { return split ? dgrads : dgrads + wgrads; }
};

// Goes through one rank's steps.
class StepHolding {
 public:
  StepHolding(const StepPlan& plan, const RankSteps& rank, const CostBytes& bytes,
              const std::vector<KeptBytes>& stages)
      : layout_(plan.layout),
        rank_(rank),
        bytes_(bytes),
        stages_(stages),
        num_micro_batches_(plan.num_micro_batches),
        left_(static_cast<std::size_t>(plan.layout.map.chunks_per_rank) * num_micro_batches_) {
    for (const Step& step : rank.steps) {
      const Segment* segment = segment_of(step);
      if (segment == nullptr) continue;
      ChunkLeft& left = left_of(segment->stage, segment->micro_batch);
      ++count_of(left, step);
      left.has_dgrads = left.dgrads > 0;
    }
    for (const StepSpan& span : rank.spans) {
      for (const Action& action : compute_actions(span.cell)) note_split(action);
      for (const Action& action : span.joined) note_split(action);
    }
  }

  std::vector<Held> run() {
    std::vector<Held> held;
    held.reserve(rank_.steps.size());
    for (const Step& step : rank_.steps) {
      if (const Segment* segment = segment_of(step)) {
        held.push_back(run_segment(step, *segment));
      } else {
        held.push_back(now_);
      }
    }
    return held;
  }

 private:
  ChunkLeft& left_of(Stage stage, MicroBatch micro_batch) {
    const auto chunk = static_cast<std::size_t>(layout_.map.chunk_of(stage).value);
    return left_.at(chunk * num_micro_batches_ + micro_batch.value);
  }

  static int& count_of(ChunkLeft& left, const Step& step) {
    if (std::holds_alternative<RunForward>(step)) return left.forwards;
    return std::holds_alternative<RunDgrad>(step) ? left.dgrads : left.wgrads;
  }

  void note_split(const Action& action) {
    if (action.kind != ActionKind::Dgrad) return;
    ChunkLeft& left = left_of(action.stage, action.micro_batch);
    left.split = left.has_dgrads;
  }

  // Of the stage, unless segments have bytes of their own.
  KeptBytes of(Stage stage) const {
    const bool by_stage = bytes_.segments.empty() && !stages_.empty();
    return by_stage ? stages_.at(stage.value) : KeptBytes{};
  }

  Held run_segment(const Step& step, const Segment& segment) {
    ChunkLeft& left = left_of(segment.stage, segment.micro_batch);
    begin(left, step, of(segment.stage));
    Held held = now_;
    if (!bytes_.segments.empty()) held.bytes = change(step, segment);
    end(left, step, of(segment.stage));
    now_.bytes_after = now_.bytes;
    held.pending_wgrads = now_.pending_wgrads;
    held.bytes_after = now_.bytes_after;
    return held;
  }

  void begin(ChunkLeft& left, const Step& step, const KeptBytes& kept) {
    if (std::holds_alternative<RunForward>(step)) {
      if (left.begun) return;
      left.begun = true;
      ++now_.live_chunks;
      now_.bytes += kept.activation + kept.forward;
    } else if (!left.backward_begun && left.backwards() > 0) {
      left.backward_begun = true;
      now_.bytes += left.split ? kept.dgrad : kept.backward;
    }
  }

  void end(ChunkLeft& left, const Step& step, const KeptBytes& kept) {
    --count_of(left, step);
    if (std::holds_alternative<RunForward>(step)) {
      if (left.forwards == 0) now_.bytes -= kept.forward;
      return;
    }
    const bool is_dgrad = std::holds_alternative<RunDgrad>(step);
    const bool last_dgrad = is_dgrad && left.dgrads == 0;
    const bool last_wgrad = !is_dgrad && left.wgrads == 0;
    if (left.has_dgrads ? last_dgrad : last_wgrad) --now_.live_chunks;
    if ((is_dgrad || !left.split) && left.backwards() == 0) {
      now_.bytes -= kept.activation + (left.split ? kept.dgrad : kept.backward);
    }
    if (!left.split) return;
    if (last_dgrad && left.wgrads > 0) {
      ++now_.pending_wgrads;
      now_.bytes += kept.wgrad;
    } else if (last_wgrad && left.dgrads == 0) {
      --now_.pending_wgrads;
      now_.bytes -= kept.wgrad;
    }
  }

  // By the bytes of the segment itself; what is held while it runs.
  std::int64_t change(const Step& step, const Segment& segment) {
    const auto found = bytes_.segments.find(key_of(layout_, segment));
    const KeptBytes kept = found == bytes_.segments.end() ? KeptBytes{} : found->second;
    const std::int64_t before = now_.bytes;
    if (std::holds_alternative<RunForward>(step)) {
      now_.bytes += kept.activation;
      return now_.bytes + kept.forward;
    }
    if (std::holds_alternative<RunDgrad>(step)) {
      now_.bytes += (has_wgrad(segment.kind) ? kept.wgrad : 0) - kept.activation;
      return before + kept.dgrad;
    }
    now_.bytes -= has_dgrad(segment.kind) ? kept.wgrad : kept.activation;
    return before;
  }

  const Layout& layout_;
  const RankSteps& rank_;
  const CostBytes& bytes_;
  const std::vector<KeptBytes>& stages_;
  const int num_micro_batches_;
  std::vector<ChunkLeft> left_;  // [chunk, micro-batch]
  Held now_;
};

}  // namespace

PlanHeld held_by_step(const StepPlan& plan, const CostBytes& bytes) {
  const std::vector<KeptBytes> stages = stage_bytes(bytes, plan.layout);
  PlanHeld held;
  for (const RankSteps& rank : plan.ranks) {
    held.push_back(StepHolding(plan, rank, bytes, stages).run());
  }
  return held;
}

}  // namespace weft
