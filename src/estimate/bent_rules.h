// Rules of the original that a run bends: it would have been refused there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/request.h"
#include "layout/layout.h"

namespace weft {

struct BentRule {
  std::string rule;      // its name in the table of rules
  std::string feature;   // DualPipeV, overlap
  std::string found;     // what bends it
  std::string original;  // what the original asks
  std::string weft;      // what Weft does

  bool operator==(const BentRule&) const = default;
};

// The lifted rules (config/rules.h) that the run makes use of, in the order of the table. `config`
// is the request's, resolved.
std::vector<BentRule> bent_rules(const Request& request, const Config& config,
                                 const Layout& layout);

// The rules that bent_rules knows how to see.
std::vector<std::string_view> lifted_rule_names();

}  // namespace weft
