// "Did you mean": the known name closest to one that is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other
// (optimal string alignment). Time and memory O(|a| * |b|), at most 256 bytes of each are read.
int edit_distance(std::string_view a, std::string_view b);

// The closest of `known` that may be meant: at most a third of the longer text is changed, or two
// thirds of the words between dashes are the same in any order, or the name goes on behind a known
// one. Upper and lower case and - and _ count as equal. The first of several equally close.
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known);

// ` (did you mean X?)` if there is a nearest name, else an empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::string_view prefix = "");

// `1 rank`, `2 ranks`, `3 micro-batches`.
std::string counted(std::int64_t count, std::string_view noun);

// `a, b, c`.
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace weft
