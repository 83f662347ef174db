// Bytes that a micro-batch holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "costs/segment_key.h"

namespace weft {

// What a micro-batch may hold of a stage at most: sums over the largest plan stay countable.
inline constexpr std::int64_t kMaxKeptBytes = 500'000'000'000;

// Of a stage or a segment.
struct KeptBytes {
  std::int64_t activation = 0;  // from the start of its F to the end of its B, or of its I
  std::int64_t wgrad = 0;       // from the end of its I to the end of its W
  // More, only while it runs: logits, say, or a layer that is computed again.
  std::int64_t forward = 0;
  std::int64_t backward = 0;  // of a full backward; at the steps level there is none
  std::int64_t dgrad = 0;

  bool operator==(const KeptBytes&) const = default;
};

// The parts by their names in a file.
struct KeptPart {
  std::string_view name;
  std::int64_t KeptBytes::* member;
};

inline constexpr KeptPart kKeptParts[] = {{"activation", &KeptBytes::activation},
                                          {"wgrad", &KeptBytes::wgrad},
                                          {"forward", &KeptBytes::forward},
                                          {"backward", &KeptBytes::backward},
                                          {"dgrad", &KeptBytes::dgrad}};

struct CostBytes {
  std::optional<KeptBytes> stage = {};   // of every stage
  std::map<int, KeptBytes> stages = {};  // by stage, overrides `stage`
  std::map<SegmentKey, KeptBytes> segments = {};

  bool empty() const { return !stage && stages.empty() && segments.empty(); }

  bool operator==(const CostBytes&) const = default;
};

}  // namespace weft
