#include "passes/chains.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

bool is_moe(const Layout& layout, int layer) {
  return layer >= 0 && kind_of_layer(layout, layer) == LayerKind::Moe;
}

// Appends tasks and wires of one stage and micro-batch to a problem. `last_` is the end of the
// chain so far, `pending_` the wires that its next task waits for. With MTP layers the heads stand
// beside the chain: each reads the hidden state of its own layer.
class ChainBuilder {
 public:
  ChainBuilder(WeaveProblem& problem, const Layout& layout, const Costs& costs,
               const ChainRequest& request)
      : problem_(problem),
        layout_(layout),
        costs_(costs),
        request_(request),
        heads_beside_(layout.stages[request.stage.value].loss && num_mtp_layers(layout) > 0) {}

  void forward() {
    receive(WireKind::RecvForward, request_.stage.value - 1);
    const std::vector<Segment> segments = stage_segments(layout_, request_.stage);
    for (const Segment& segment : segments) {
      if (heads_beside_ && segment.kind == SegmentKind::MtpProjection) take_input();
      switch (segment.kind) {
        case SegmentKind::Attention:
          chain_forward(segment.kind, segment.layer);
          if (is_moe(layout_, segment.layer)) forward_moe(segment.layer);
          break;
        case SegmentKind::SharedExpert:
        case SegmentKind::Experts:
        case SegmentKind::Merge:
          break;  // by forward_moe
        case SegmentKind::Head:
        case SegmentKind::MtpHead:
          forward_head(segment);
          break;
        case SegmentKind::Embedding:
        case SegmentKind::Mlp:
        case SegmentKind::MtpProjection:
        case SegmentKind::Identity:
          chain_forward(segment.kind, segment.layer);
          break;
      }
      if (!is_head(segment.kind)) makers_[hidden_state_of(segment.layer)] = last_;
    }
    send(WireKind::SendForward, request_.stage.value + 1);
  }

  void backward(bool with_wgrads) {
    with_wgrads_ = with_wgrads;
    receive(WireKind::RecvBackward, request_.stage.value + 1);
    std::vector<Segment> segments = stage_segments(layout_, request_.stage);
    std::reverse(segments.begin(), segments.end());
    // The input gradient that ends the stage hands over before its own weight gradients run.
    const auto last = std::find_if(segments.rbegin(), segments.rend(), [](const Segment& s) {
      return s.kind != SegmentKind::Embedding;
    });
    for (const Segment& segment : segments) {
      const bool hands_over = last != segments.rend() && segment == *last;
      switch (segment.kind) {
        case SegmentKind::Merge:
          backward_moe(segment.layer);
          break;
        case SegmentKind::SharedExpert:
        case SegmentKind::Experts:
          break;  // by backward_moe
        case SegmentKind::Embedding:
          if (!pending_.empty()) chain({}, 0);  // no segment below it takes what was received
          add_wgrad(segment.kind, segment.layer, last_);
          break;
        case SegmentKind::Head:
        case SegmentKind::MtpHead:
        case SegmentKind::Attention:
        case SegmentKind::Mlp:
        case SegmentKind::MtpProjection:
        case SegmentKind::Identity:
          backward_segment(segment, hands_over);
          break;
      }
    }
  }

  void wgrads() {
    with_wgrads_ = true;
    std::vector<Segment> segments = stage_segments(layout_, request_.stage);
    std::reverse(segments.begin(), segments.end());
    for (const Segment& segment : segments) add_wgrad(segment.kind, segment.layer, -1);
  }

 private:
  Segment segment(SegmentKind kind, int layer) const {
    return {kind, request_.stage, layer, request_.micro_batch};
  }

  const SegmentCost& cost(SegmentKind kind, int layer) const {
    return costs_.of_segment({kind, is_moe(layout_, layer)});
  }

  int append(WeaveTask task) {
    problem_.tasks.push_back(std::move(task));
    return static_cast<int>(problem_.tasks.size()) - 1;
  }

  // The next task of the chain.
  void chain(std::optional<Step> run, double duration) {
    WeaveTask task{std::move(run), duration, {}, std::exchange(pending_, {}), {}};
    if (last_ >= 0) task.after.push_back(last_);
    last_ = append(std::move(task));
  }

  void chain_forward(SegmentKind kind, int layer) {
    chain(RunForward{segment(kind, layer)}, cost(kind, layer).forward);
  }

  void chain_dgrad(SegmentKind kind, int layer) {
    chain(RunDgrad{segment(kind, layer)}, cost(kind, layer).dgrad);
    const auto head = head_dgrads_.extract(hidden_state_of(layer));
    if (!head.empty()) problem_.tasks[last_].after.push_back(head.mapped());
  }

  // 0 the model's own, 1 that of the first MTP layer.
  int hidden_state_of(int layer) const {
    return std::max(0, layer + 1 - number_of_mtp_layer(layout_, 0));
  }

  // What the stage received is there for all that read it.
  void take_input() {
    if (pending_.empty()) return;
    chain({}, 0);
    input_ = last_;
  }

  void forward_head(const Segment& head) {
    if (!heads_beside_) return chain_forward(head.kind, head.layer);
    take_input();
    const auto maker = makers_.find(hidden_state_of(head.layer));
    const int before = maker != makers_.end() ? maker->second : input_;
    WeaveTask task{RunForward{segment(head.kind, head.layer)},
                   cost(head.kind, head.layer).forward,
                   {},
                   {},
                   {}};
    if (before >= 0) task.after.push_back(before);
    append(std::move(task));
  }

  // With what it hands over go the gradients of hidden states that nothing else here reads.
  void backward_segment(const Segment& s, bool hands_over) {
    int task = -1;
    if (heads_beside_ && is_head(s.kind)) {
      task = append({RunDgrad{segment(s.kind, s.layer)}, cost(s.kind, s.layer).dgrad, {}, {}, {}});
      head_dgrads_[hidden_state_of(s.layer)] = task;
    } else {
      chain_dgrad(s.kind, s.layer);
      task = last_;
    }
    if (shared_dgrad_ >= 0) problem_.tasks[task].after.push_back(shared_dgrad_);
    shared_dgrad_ = -1;
    if (hands_over) {
      for (const auto& [state, head] : std::exchange(head_dgrads_, {})) {
        if (head != task) problem_.tasks[task].after.push_back(head);
      }
      last_ = task;
      send(WireKind::SendBackward, request_.stage.value - 1);
    }
    add_wgrad(s.kind, s.layer, task);
  }

  int add_wire(WireKind kind, int layer, bool posted, bool kept) {
    const Wire wire{kind, request_.stage, layer, request_.micro_batch};
    double cost = costs_.of_wire(kind);
    if (is_hand_over(kind)) cost *= hidden_states_behind(layout_)[edge_of(wire)];
    problem_.wires.push_back({wire, cost, lane_of(kind), posted, kept});
    return static_cast<int>(problem_.wires.size()) - 1;
  }

  // Starts a wire behind `last_`; the chain's next task waits for it.
  void start(WireKind kind, int layer) {
    const int wire = add_wire(kind, layer, false, false);
    problem_.tasks[last_].starts.push_back(wire);
    pending_.push_back(wire);
  }

  void receive(WireKind kind, int from) {
    if (!crosses_ranks(from)) return;
    pending_.push_back(add_wire(kind, -1, true, false));
  }

  void send(WireKind kind, int to) {
    if (!crosses_ranks(to)) return;
    WeaveTask& last = problem_.tasks[last_];
    const int earlier = find_send(kind);
    if (earlier >= 0) last.after.push_back(earlier);
    last.starts.push_back(add_wire(kind, -1, false, true));
  }

  // The task that sends another micro-batch's the same way; -1: none. A receiver takes messages in
  // their order.
  int find_send(WireKind kind) const {
    for (int i = static_cast<int>(problem_.tasks.size()) - 1; i >= 0; --i) {
      for (int wire : problem_.tasks[i].starts) {
        const Wire& other = problem_.wires[wire].wire;
        if (other.kind == kind && other.stage == request_.stage) return i;
      }
    }
    return -1;
  }

  bool crosses_ranks(int neighbour) const {
    return neighbour >= 0 && neighbour < layout_.map.num_stages() &&
           !layout_.map.is_local(request_.stage, Stage(neighbour));
  }

  // Behind the layer's attention.
  void forward_moe(int layer) {
    const int attention = last_;
    start(WireKind::Counts, layer);
    chain({}, 0);
    start(WireKind::Dispatch, layer);
    chain_forward(SegmentKind::Experts, layer);
    start(WireKind::Combine, layer);
    int shared = -1;
    if (layout_.shared_expert) {
      shared = append({RunForward{segment(SegmentKind::SharedExpert, layer)},
                       cost(SegmentKind::SharedExpert, layer).forward,
                       {attention},
                       {},
                       {}});
    }
    chain_forward(SegmentKind::Merge, layer);
    if (shared >= 0) problem_.tasks[last_].after.push_back(shared);
  }

  // The whole layer but its attention, which comes next in the chain.
  void backward_moe(int layer) {
    chain_dgrad(SegmentKind::Merge, layer);
    const int merge = last_;
    start(WireKind::CombineBackward, layer);
    chain_dgrad(SegmentKind::Experts, layer);
    start(WireKind::DispatchBackward, layer);
    add_wgrad(SegmentKind::Experts, layer, last_);
    if (!layout_.shared_expert) return;
    shared_dgrad_ = append({RunDgrad{segment(SegmentKind::SharedExpert, layer)},
                            cost(SegmentKind::SharedExpert, layer).dgrad,
                            {merge},
                            {},
                            {}});
    add_wgrad(SegmentKind::SharedExpert, layer, shared_dgrad_);
  }

  void add_wgrad(SegmentKind kind, int layer, int dgrad) {
    if (!with_wgrads_ || !has_wgrad(kind)) return;
    WeaveTask task{RunWgrad{segment(kind, layer)}, cost(kind, layer).wgrad, {}, {}, {}};
    const int earlier = find_wgrad(kind, layer);
    if (earlier >= 0) task.after.push_back(earlier);
    if (dgrad >= 0) task.after.push_back(dgrad);
    append(std::move(task));
  }

  // The last W so far of the same weights, by another micro-batch; -1: none. What a weight's W's
  // add up to depends on their order, to the last bit.
  int find_wgrad(SegmentKind kind, int layer) const {
    for (int i = static_cast<int>(problem_.tasks.size()) - 1; i >= 0; --i) {
      const auto& run = problem_.tasks[i].run;
      const RunWgrad* wgrad = run ? std::get_if<RunWgrad>(&*run) : nullptr;
      if (wgrad == nullptr || wgrad->segment.stage != request_.stage) continue;
      if (wgrad->segment.kind == kind && wgrad->segment.layer == layer) return i;
    }
    return -1;
  }

  WeaveProblem& problem_;
  const Layout& layout_;
  const Costs& costs_;
  const ChainRequest request_;
  const bool heads_beside_;
  bool with_wgrads_ = false;
  int last_ = -1;
  int input_ = -1;  // takes what the stage received, where several segments read it
  int shared_dgrad_ = -1;
  std::map<int, int> makers_;       // by hidden state, the task that makes it here
  std::map<int, int> head_dgrads_;  // by hidden state, those that no task has taken yet
  std::vector<int> pending_;
};

}  // namespace

std::vector<Segment> stage_segments(const Layout& layout, Stage stage) {
  const StageLayers& layers = layout.stages[stage.value];
  std::vector<Segment> segments;
  const auto add = [&](SegmentKind kind, int layer) {
    segments.push_back({kind, stage, layer, MicroBatch(0)});
  };
  const auto add_layer = [&](int layer) {
    switch (kind_of_layer(layout, layer)) {
      case LayerKind::Dense:
        add(SegmentKind::Attention, layer);
        add(SegmentKind::Mlp, layer);
        break;
      case LayerKind::Moe:
        add(SegmentKind::Attention, layer);
        if (layout.shared_expert) add(SegmentKind::SharedExpert, layer);
        add(SegmentKind::Experts, layer);
        add(SegmentKind::Merge, layer);
        break;
      case LayerKind::Noop:
        break;
    }
  };
  if (layers.embedding) add(SegmentKind::Embedding, -1);
  for (int layer : layers.decoder_layers) add_layer(layer);
  for (int mtp_layer : layers.mtp_layers) {
    const int layer = number_of_mtp_layer(layout, mtp_layer);
    add(SegmentKind::MtpProjection, layer);
    add_layer(layer);
  }
  if (layers.loss) {
    add(SegmentKind::Head, -1);
    const int count = num_mtp_layers(layout);
    for (int k = 0; k < count; ++k) add(SegmentKind::MtpHead, number_of_mtp_layer(layout, k));
  }
  if (segments.empty()) add(SegmentKind::Identity, -1);
  return segments;
}

std::vector<int> gradient_buckets(const Layout& layout, Stage stage) {
  std::set<int> buckets;
  for (const Segment& segment : stage_segments(layout, stage)) {
    if (has_wgrad(segment.kind)) buckets.insert(segment.layer);
  }
  return {buckets.begin(), buckets.end()};
}

void add_forward(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                 const ChainRequest& request) {
  ChainBuilder(problem, layout, costs, request).forward();
}

void add_backward(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                  const ChainRequest& request, bool with_wgrads) {
  ChainBuilder(problem, layout, costs, request).backward(with_wgrads);
}

void add_wgrads(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                const ChainRequest& request) {
  ChainBuilder(problem, layout, costs, request).wgrads();
}

}  // namespace weft
