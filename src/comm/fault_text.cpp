#include "comm/fault_text.h"

#include <sstream>

namespace weft {

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i].value);
  }
  return text;
}

std::string exchange_text(Rank rank, const std::string& what, const std::string& group,
                          const std::vector<Rank>& peers) {
  std::string text =
      "rank " + std::to_string(rank.value) + ": " + what + " on group '" + group + "'";
  if (!peers.empty()) text += " with " + ranks_text(peers);
  return text;
}

std::string seconds_text(std::chrono::milliseconds duration) {
  std::ostringstream text;
  text << static_cast<double>(duration.count()) / 1000.0 << " s";
  return text.str();
}

}  // namespace weft
