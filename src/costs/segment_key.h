// What costs and bytes of segments are keyed by.
#pragma once

#include <string>

#include "layout/layout.h"
#include "schedule/step.h"

namespace weft {

// Attention differs between dense and MoE layers (router, permutation), so segments are keyed by
// kind and by whether the layer is MoE.
struct SegmentKey {
  SegmentKind kind = SegmentKind::Attention;
  bool moe = false;

  auto operator<=>(const SegmentKey&) const = default;
};

// The key with `moe` as the kind fixes it: only Attention is in both sorts of layers.
SegmentKey normalised(SegmentKey key);
SegmentKey key_of(const Layout& layout, const Segment& segment);

// The name of a segment among costs: segment_name() of schedule/text.h, and `moe_attention`.
std::string name_of(SegmentKey key);

}  // namespace weft
