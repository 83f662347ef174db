#include "estimate/traffic.h"

namespace weft {
namespace {

// Bytes of one wire that leave the rank; empty for a receive.
class WireBytes {
 public:
  WireBytes(const Layout& layout, const Mesh& mesh, const ModelSizes& sizes,
            const ActivationTable& table, const ElementBytes& element)
      : layout_(layout),
        hidden_states_(hidden_states_behind(layout)),
        mesh_(mesh),
        sizes_(sizes),
        table_(table),
        element_(element) {}

  std::int64_t operator()(const Wire& wire) const {
    switch (wire.kind) {
      case WireKind::Dispatch:
      case WireKind::Combine:
      case WireKind::CombineBackward:
      case WireKind::DispatchBackward:
        return to_others(table_.rows);
      case WireKind::Counts:
        return to_others(sizes_.experts * static_cast<std::int64_t>(sizeof(std::int64_t)));
      case WireKind::SendForward:
      case WireKind::SendBackward:
        return table_.hidden * hidden_states_[static_cast<std::size_t>(edge_of(wire))];
      case WireKind::ReduceGrad:
      case WireKind::GatherGrad: {
        const ParameterCount count =
            count_bucket(sizes_, layout_, wire.stage, wire.layer, mesh_.ep_size);
        return share_bytes(count.replicated_gradients(), mesh_.dp_size, element_.main) +
               share_bytes(count.all_experts(), mesh_.dp_size / mesh_.ep_size, element_.main);
      }
      case WireKind::RecvForward:
      case WireKind::RecvBackward:
        return 0;
    }
    return 0;
  }

 private:
  std::int64_t to_others(std::int64_t bytes) const {
    return bytes / mesh_.ep_size * (mesh_.ep_size - 1);
  }

  const Layout& layout_;
  const std::vector<int> hidden_states_;  // [stage] handed to the next one
  const Mesh& mesh_;
  const ModelSizes& sizes_;
  const ActivationTable& table_;
  const ElementBytes& element_;
};

bool is_receive(WireKind kind) {
  return kind == WireKind::RecvForward || kind == WireKind::RecvBackward;
}

}  // namespace

std::int64_t share_bytes(std::int64_t elements, int num_ranks, std::int64_t element_bytes) {
  const std::int64_t share = (elements + num_ranks - 1) / num_ranks;
  return share * (num_ranks - 1) * element_bytes;
}

std::vector<RankTraffic> count_traffic(const StepPlan& plan, const Layout& layout, const Mesh& mesh,
                                       const ModelSizes& sizes, const ActivationTable& table,
                                       const ElementBytes& element) {
  const WireBytes bytes_of(layout, mesh, sizes, table, element);
  std::vector<RankTraffic> ranks;
  for (const RankSteps& rank : plan.ranks) {
    RankTraffic& traffic = ranks.emplace_back();
    for (const Step& step : rank.steps) {
      const auto* start = std::get_if<StartWire>(&step);
      if (start == nullptr || is_receive(start->wire.kind)) continue;
      WireTraffic& wire = traffic[start->wire.kind];
      ++wire.wires;
      wire.bytes += bytes_of(start->wire);
    }
  }
  return ranks;
}

}  // namespace weft
