#include "timeline/palette.h"

#include "base/error.h"

namespace weft {

const std::vector<PaletteRow>& palette() {
  static const std::vector<PaletteRow> kRows = {
      {"F", "#bcdaf4", "#7fb5e6", "#4f79a8"}, {"I", "#f5b95f", "#e08a1e", "#9c6a1c"},
      {"W", "#fbf0b4", "#efd866", "#a08a1c"}, {"f", "#d3e3f3", "#d3e3f3", "#4f79a8"},
      {"r", "#f3e2c7", "#f3e2c7", "#9c7025"}, {"c", "#e4e4ea", "#e4e4ea", "#70707e"},
  };
  return kRows;
}

const PaletteRow& palette_row(std::string_view name) {
  for (const PaletteRow& row : palette()) {
    if (row.name == name) return row;
  }
  throw InternalError("no such colour");
}

}  // namespace weft
