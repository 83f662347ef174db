// The colours of a timeline, one table for SVG and page. Blue, orange, yellow and violet differ in
// lightness too: none is told from another by red against green.
#pragma once

#include <string_view>
#include <vector>

namespace weft {

// `even` and `odd`: chunks of a rank, counted from 0.
struct PaletteRow {
  std::string_view name;  // F, I, W: fill; f, r, c: forward, backward and other wires
  std::string_view even;
  std::string_view odd;
  std::string_view line;
};

const std::vector<PaletteRow>& palette();
const PaletteRow& palette_row(std::string_view name);

inline constexpr std::string_view kExposedColour = "#7a4a9e";
inline constexpr std::string_view kBubbleColour = "#eff0f3";
inline constexpr std::string_view kBubbleLine = "#b9bfca";
inline constexpr std::string_view kInkColour = "#1f2430";
inline constexpr std::string_view kSoftInkColour = "#5c6474";

}  // namespace weft
