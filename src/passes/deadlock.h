// Runs lists against each other in thought and shows a shortest cycle where they cannot end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weft {

// One entry of one list.
struct Place {
  int list = 0;
  int index = 0;

  auto operator<=>(const Place&) const = default;
};

// Lists of entries that run in order, each entry after the entries of other lists that it needs.
// needs[list][index] are those entries; most have none or one.
struct WaitGraph {
  std::vector<std::vector<std::vector<Place>>> needs;
};

// Empty if all lists run to their end; else a cycle of the fewest places in which each place needs
// the next one, or an entry behind the next one in its list; the last closes on the first. Linear
// in the number of entries where there is no cycle.
std::vector<Place> find_deadlock(const WaitGraph& graph);

// "NAME needs NAME, which comes after NAME; ..." of such a cycle, by `name` of its places.
std::string print_deadlock(const WaitGraph& graph, const std::vector<Place>& cycle,
                           const std::function<std::string(Place)>& name);

}  // namespace weft
