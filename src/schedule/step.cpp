#include "schedule/step.h"

namespace weft {

const Segment* segment_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> const Segment* {
        if constexpr (requires { s.segment; }) {
          return &s.segment;
        } else {
          return nullptr;
        }
      },
      step);
}

const Wire* wire_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> const Wire* {
        if constexpr (requires { s.wire; }) {
          return &s.wire;
        } else {
          return nullptr;
        }
      },
      step);
}

}  // namespace weft
