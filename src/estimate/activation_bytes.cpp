#include "estimate/activation_bytes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

using Bytes = std::int64_t;

// Largest of several stages of one step.
Bytes at_most(std::initializer_list<Bytes> moments) { return std::max(moments); }

// Works out the table; see the header for the letters.
class TableBuilder {
 public:
  TableBuilder(const ModelSizes& sizes, std::int64_t tokens, const ElementBytes& element,
               int expert_ranks)
      : sizes_(sizes),
        narrow_(element.compute < element.main),
        shared_(sizes.experts > 0 && sizes.shared_ffn > 0),
        spread_(expert_ranks > 1),
        tokens_(tokens),
        e_(element.compute),
        w_(element.main),
        hidden_(tokens * sizes.hidden * e_),
        wide_hidden_(tokens * sizes.hidden * w_),
        inverse_rms_(tokens * w_),
        num_rows_(tokens * sizes.topk),
        rows_(num_rows_ * sizes.hidden * e_) {}

  ActivationTable build() {
    ActivationTable table;
    table.hidden = hidden_;
    table.rows = rows_;
    table.segments = {{{SegmentKind::Embedding, false}, embedding()},
                      {{SegmentKind::Attention, false}, dense_attention()},
                      {{SegmentKind::Mlp, false}, mlp()},
                      {{SegmentKind::Head, false}, head()},
                      {{SegmentKind::MtpProjection, false}, mtp_projection()},
                      {{SegmentKind::MtpHead, false}, head()},
                      {{SegmentKind::Identity, false}, {}}};
    if (sizes_.experts == 0) return table;
    table.segments[{SegmentKind::Attention, true}] = moe_attention();
    table.segments[{SegmentKind::Experts, true}] = experts();
    table.segments[{SegmentKind::Merge, true}] = merge();
    if (shared_) table.segments[{SegmentKind::SharedExpert, true}] = shared_expert();
    return table;
  }

 private:
  Bytes wide_copy(std::int64_t elements) const { return narrow_ ? elements * w_ : 0; }

  SegmentBytes embedding() const {
    return {.forward = hidden_,
            .forward_peak = hidden_,
            .wgrad = -hidden_,
            .wgrad_peak = wide_copy(tokens_ * sizes_.hidden)};
  }

  // Queries, keys and values, and what they are made from, beside the normed input.
  Bytes projected() const {
    const ModelExtras& extras = sizes_.extras;
    const std::int64_t keys = sizes_.kv_heads * sizes_.head_size;
    const std::int64_t nope = sizes_.heads * extras.qk_nope_head_dim;
    std::int64_t channels =
        (sizes_.heads + sizes_.kv_heads) * sizes_.head_size + sizes_.kv_heads * sizes_.value_size;
    // Latents before and after their norms; keys without rotation beside the values, once more
    // joined with the rotated one.
    if (extras.kv_lora_rank > 0) {
      channels += 2 * (extras.q_lora_rank + extras.kv_lora_rank) + extras.qk_rope_head_dim + nope;
    } else if (extras.query_key_norm != QueryKeyNorm::None) {
      channels += sizes_.heads * sizes_.head_size + keys;
    }
    return tokens_ * channels * e_;
  }

  Bytes attended() const { return tokens_ * sizes_.heads * sizes_.value_size * e_; }

  // x, the normed input, its projections, what attention yields; not the output.
  Bytes attention_kept() const {
    return inverse_rms_ + hidden_ + projected() + attended() + tokens_ * sizes_.heads * w_;
  }

  Bytes attention_pending() const {
    Bytes bytes = 0;
    for (const LinearSize& product : attention_products(sizes_)) {
      bytes += tokens_ * (product.in + product.out) * e_;
    }
    return bytes;
  }

  Bytes attention_wide() const {
    Bytes most = 0;
    for (const LinearSize& product : attention_products(sizes_)) {
      most = std::max(most, wide_copy(tokens_ * (product.in + product.out)));
    }
    return most;
  }

  // Inside a norm's backward: its output's gradient, and three tensors of its own.
  Bytes norm_backward() const { return hidden_ + 3 * wide_hidden_; }

  // `x` goes, and the gradient of the output; the gradient of x is new.
  SegmentBytes dense_attention() const {
    const Bytes kept = attention_kept();
    const Bytes pending = attention_pending();
    const Bytes forward = kept + hidden_;
    return {.forward = forward,
            .forward_peak = forward + wide_copy(tokens_ * sizes_.hidden),
            .dgrad = pending - kept - hidden_,
            .dgrad_peak = at_most({attended() + projected(), norm_backward()}),
            .wgrad = -pending,
            .wgrad_peak = attention_wide()};
  }

  Bytes routing() const {
    const Bytes order = 3 * num_rows_ * 8;
    const Bytes scores = sizes_.router_scores ? tokens_ * sizes_.experts * w_ : 0;
    return order + num_rows_ * w_ + scores;
  }

  // The residual's gradient goes too unless the shared expert's W still reads it (the walk knows).
  SegmentBytes moe_attention() const {
    const Bytes logits = tokens_ * sizes_.experts * w_;
    const Bytes kept =
        attention_kept() + hidden_ + inverse_rms_ + hidden_ + routing();  // residual, normed
    const Bytes pending = attention_pending() + logits + hidden_;
    const Bytes forward = kept + rows_;
    const Bytes taken = rows_ + num_rows_ * w_ + (shared_ ? hidden_ : 0);
    return {.forward = forward,
            .forward_peak = forward + 2 * logits + wide_copy(tokens_ * sizes_.hidden),
            .dgrad = pending + hidden_ - kept - hidden_ - taken - hidden_,
            .dgrad_peak = at_most(
                {4 * logits + 2 * hidden_, logits + hidden_ + norm_backward() - rows_ - routing(),
                 logits + hidden_ + attended() + projected() - rows_ - routing() - inverse_rms_}),
            .wgrad = -pending,
            .wgrad_peak = std::max(attention_wide(), wide_copy(tokens_ * sizes_.hidden))};
  }

  SegmentBytes mlp() const {
    const Bytes width = tokens_ * sizes_.ffn * e_;
    const Bytes forward = inverse_rms_ + hidden_ + 3 * width + hidden_;
    return {.forward = forward,
            .forward_peak = forward,
            .dgrad = -inverse_rms_,  // the residual goes, the gradient of the input is new
            .dgrad_peak = at_most({4 * width, 3 * width + hidden_, norm_backward()}),
            .wgrad = -2 * hidden_ - 3 * width,
            .wgrad_peak = wide_copy(tokens_ * (sizes_.hidden + 2 * sizes_.ffn))};
  }

  SegmentBytes shared_expert() const {
    const Bytes width = tokens_ * sizes_.shared_ffn * e_;
    return {.forward = 3 * width + hidden_,
            .forward_peak = 3 * width + hidden_,
            .dgrad = hidden_,
            .dgrad_peak = at_most({4 * width, 3 * width + hidden_}),
            .wgrad = -3 * width,
            .wgrad_peak = wide_copy(tokens_ * (sizes_.hidden + 2 * sizes_.shared_ffn))};
  }

  // Rows are sorted by expert where several ranks sent them: what came goes, the sorted rows stay.
  SegmentBytes experts() const {
    const Bytes width = num_rows_ * sizes_.expert_ffn * e_;
    const Bytes order = spread_ ? 16 * num_rows_ : 0;
    const Bytes sorted = spread_ ? rows_ : 0;
    return {.forward = order + 3 * width + rows_,
            .forward_peak = order + 3 * width + rows_ + 2 * sorted,
            .dgrad = rows_ - order,
            .dgrad_peak = sorted + at_most({4 * width, 3 * width + rows_, sorted + rows_}),
            .wgrad = -2 * rows_ - 3 * width,
            .wgrad_peak = wide_copy(num_rows_ * (sizes_.hidden + 2 * sizes_.expert_ffn) /
                                    std::max<std::int64_t>(1, sizes_.experts))};
  }

  SegmentBytes merge() const {
    const Bytes weights = narrow_ ? num_rows_ * e_ : 0;
    const Bytes wide_rows = num_rows_ * sizes_.hidden * w_;
    return {.forward = weights + hidden_ - (shared_ ? hidden_ : 0),
            .forward_peak = weights + 2 * hidden_,
            .dgrad = num_rows_ * w_ - weights,
            .dgrad_peak = rows_ + wide_rows + (narrow_ ? wide_rows : 0)};
  }

  SegmentBytes head() const {
    const Bytes logits = tokens_ * sizes_.vocabulary * e_;
    const Bytes wide = tokens_ * sizes_.vocabulary * w_;
    const Bytes forward = inverse_rms_ + hidden_ + logits + inverse_rms_;
    return {.forward = forward,
            .forward_peak = forward + wide + (narrow_ ? wide : 0),
            .dgrad = -2 * inverse_rms_,  // the hidden goes, its gradient is new
            .dgrad_peak = at_most({wide + (narrow_ ? logits : 0), norm_backward()}),
            .wgrad = -logits - hidden_,
            .wgrad_peak = wide_copy(tokens_ * (sizes_.hidden + sizes_.vocabulary))};
  }

  // The embedding's output goes, and its gradient is new; so is that of the hidden state.
  SegmentBytes mtp_projection() const {
    const Bytes joined = 2 * hidden_;
    const Bytes forward = hidden_ + joined + 2 * inverse_rms_ + hidden_;
    return {.forward = forward,
            .forward_peak = forward + wide_copy(tokens_ * sizes_.hidden),
            .dgrad = -2 * inverse_rms_,
            .dgrad_peak = at_most({joined, hidden_ + norm_backward()}),
            .wgrad = -joined - 2 * hidden_,
            .wgrad_peak = wide_copy(tokens_ * 3 * sizes_.hidden)};
  }

  const ModelSizes& sizes_;
  const bool narrow_;  // the compute type is narrower than the main type
  const bool shared_;
  const bool spread_;  // over several expert ranks
  const std::int64_t tokens_, e_, w_;
  const Bytes hidden_, wide_hidden_, inverse_rms_;
  const std::int64_t num_rows_;
  const Bytes rows_;
};

// Stages of one rank that hand over to each other without a message, as the last of them sees it.
struct LocalRun {
  int mtp_layers = 0;
  bool loss = false;
};

std::vector<LocalRun> local_runs(const Layout& layout) {
  std::vector<LocalRun> runs(layout.stages.size());
  for (std::size_t s = 0; s < runs.size(); ++s) {
    const int stage = static_cast<int>(s);
    if (s > 0 && layout.map.is_local(Stage(stage - 1), Stage(stage))) runs[s] = runs[s - 1];
    runs[s].mtp_layers += static_cast<int>(layout.stages[s].mtp_layers.size());
    runs[s].loss = layout.stages[s].loss;
  }
  for (std::size_t s = runs.size(); s-- > 1;) {
    const int stage = static_cast<int>(s);
    if (layout.map.is_local(Stage(stage - 1), Stage(stage))) runs[s - 1] = runs[s];
  }
  return runs;
}

// Goes through one rank's steps.
class Walk {
 public:
  Walk(const Layout& layout, const ActivationTable& table)
      : layout_(layout),
        table_(table),
        hidden_states_(hidden_states_behind(layout)),
        runs_(local_runs(layout)) {}

  RankActivations run(const RankSteps& rank) {
    result_.during.reserve(rank.steps.size());
    result_.after.reserve(rank.steps.size());
    for (const Step& step : rank.steps) {
      during_ = held_;
      std::visit([this](const auto& s) { handle(s); }, step);
      result_.during.push_back(std::max(during_, held_));
      result_.after.push_back(held_);
    }
    return std::move(result_);
  }

 private:
  using Place = std::tuple<Stage, int, MicroBatch>;  // with the layer

  static Place place_of(const Segment& segment) {
    return {segment.stage, segment.layer, segment.micro_batch};
  }

  void change(Bytes delta, Bytes peak = 0) {
    const Bytes most = held_ + std::max({delta, peak, Bytes{0}});
    during_ = most;
    if (most > result_.peak) {
      result_.peak = most;
      result_.peak_step = result_.after.size();
    }
    held_ += delta;
  }

  const SegmentBytes& bytes_of(const Segment& segment) const {
    const auto found = table_.segments.find(key_of(layout_, segment));
    weft_assert(found != table_.segments.end(), "every segment of a model has its bytes");
    return found->second;
  }

  void handle(const RunForward& step) {
    const SegmentBytes& bytes = bytes_of(step.segment);
    change(bytes.forward, bytes.forward_peak);
  }

  void handle(const RunDgrad& step) {
    const Segment& segment = step.segment;
    const SegmentBytes& bytes = bytes_of(segment);
    change(bytes.dgrad + shared_hidden_state(segment), bytes.dgrad_peak);
    if (segment.kind == SegmentKind::SharedExpert) shared_pending_.insert(place_of(segment));
    const bool still_read =
        segment.kind == SegmentKind::Attention && shared_pending_.contains(place_of(segment));
    if (still_read) {
      held_ += table_.hidden;
      lent_.insert(place_of(segment));
    }
  }

  // What the table counts twice. A hidden state that an MTP layer reads is read by a head too.
  // Where both are here it goes with the second one's input gradient, which is added to the first
  // one's; where the head is on another rank the layer's gradient is added to the one that came.
  Bytes shared_hidden_state(const Segment& segment) {
    const bool head = is_head(segment.kind);
    if (!head && segment.kind != SegmentKind::MtpProjection) return 0;
    const LocalRun& run = runs_[static_cast<std::size_t>(segment.stage.value)];
    if (!run.loss) return -table_.hidden;
    const int first = number_of_mtp_layer(layout_, 0);
    const int reader = head ? std::max(first, segment.layer + 1) : segment.layer;  // an MTP layer
    const int end = first + hidden_states_.back() - 1;
    if (reader < end - run.mtp_layers || reader >= end) return 0;  // not here
    const auto [half, added] = half_read_.emplace(reader, segment.micro_batch);
    if (!added) half_read_.erase(half);
    return added ? table_.hidden : -table_.hidden;
  }

  void handle(const RunWgrad& step) {
    const Segment& segment = step.segment;
    const SegmentBytes& bytes = bytes_of(segment);
    change(bytes.wgrad, bytes.wgrad_peak);
    if (segment.kind != SegmentKind::SharedExpert) return;
    shared_pending_.erase(place_of(segment));
    if (lent_.erase(place_of(segment)) > 0) held_ -= table_.hidden;
  }

  // Bytes of what comes in.
  void handle(const StartWire& step) {
    switch (step.wire.kind) {
      case WireKind::Dispatch:
      case WireKind::Combine:
      case WireKind::CombineBackward:
      case WireKind::DispatchBackward:
        return change(table_.rows);
      case WireKind::RecvForward:
      case WireKind::RecvBackward:
        return change(handed_over(step.wire));
      case WireKind::ReduceGrad:
        return change(reduction_of(step.wire));
      case WireKind::SendForward:
        // Copies of what MTP layers here still read.
        return change(runs_[static_cast<std::size_t>(step.wire.stage.value)].mtp_layers *
                      table_.hidden);
      case WireKind::GatherGrad:
      case WireKind::Counts:
      case WireKind::SendBackward:
        return;
    }
  }

  void handle(const WaitWire& step) {
    if (step.wire.kind == WireKind::GatherGrad) change(-reduction_of(step.wire));
  }

  // Bytes of what went out.
  void handle(const Release& step) {
    if (is_all_to_all(step.wire.kind)) return change(-table_.rows);
    if (step.wire.kind != WireKind::Counts) change(-handed_over(step.wire));
  }

  Bytes handed_over(const Wire& wire) const {
    return table_.hidden * hidden_states_[static_cast<std::size_t>(edge_of(wire))];
  }

  Bytes reduction_of(const Wire& wire) const {
    const auto found = table_.reduction.find({wire.stage, wire.layer});
    return found == table_.reduction.end() ? 0 : found->second;
  }

  const Layout& layout_;
  const ActivationTable& table_;
  const std::vector<int> hidden_states_;            // [stage] handed to the next one
  const std::vector<LocalRun> runs_;                // [stage]
  std::set<std::pair<int, MicroBatch>> half_read_;  // by the MTP layer that reads it
  Bytes held_ = 0, during_ = 0;
  std::set<Place> shared_pending_;  // the shared expert's W is to come
  std::set<Place> lent_;            // and the layer's input gradient has been formed
  RankActivations result_;
};

}  // namespace

ActivationTable activation_table(const ModelSizes& sizes, std::int64_t tokens,
                                 const ElementBytes& element, int expert_ranks) {
  return TableBuilder(sizes, tokens, element, expert_ranks).build();
}

std::vector<RankActivations> count_activations(const StepPlan& plan, const ActivationTable& table) {
  std::vector<RankActivations> ranks;
  for (const RankSteps& rank : plan.ranks) ranks.push_back(Walk(plan.layout, table).run(rank));
  return ranks;
}

}  // namespace weft
