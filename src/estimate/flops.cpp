#include "estimate/flops.h"

#include "estimate/parameter_count.h"

namespace weft {
namespace {

void add_layer(FlopsPerToken& flops, const ModelSizes& sizes, LayerKind kind) {
  if (kind == LayerKind::Noop) return;
  const ParameterCount met = count_layer(sizes, kind, sizes.topk);
  flops.products += 2.0 * static_cast<double>(met.total() - met.norms);
  const double earlier = (static_cast<double>(sizes.sequence) + 1) / 2;
  flops.attention +=
      2 * earlier * static_cast<double>(sizes.heads * (sizes.head_size + sizes.value_size));
}

}  // namespace

FlopsPerToken count_flops(const ModelSizes& sizes, const Layout& layout) {
  const double head = 2.0 * static_cast<double>(sizes.vocabulary * sizes.hidden);
  FlopsPerToken flops;
  flops.head = head;
  for (const LayerKind kind : layout.layer_kinds) add_layer(flops, sizes, kind);
  for (int k = 0; k < num_mtp_layers(layout); ++k) {
    add_layer(flops, sizes, kind_of_layer(layout, number_of_mtp_layer(layout, k)));
    flops.products += 4.0 * static_cast<double>(sizes.hidden * sizes.hidden);
    flops.head += head;
  }
  return flops;
}

}  // namespace weft
