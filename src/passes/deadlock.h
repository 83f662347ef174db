// Runs lists against each other in thought and finds a shortest cycle where they cannot end.
#pragma once

#include <compare>
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

// Of a cycle: `place` needs `need`, which is the next link's place or comes after it in its list.
struct CycleLink {
  Place place;
  Place need;
};

// Empty if all lists run to their end; else a cycle of the fewest links, of which the last closes
// on the first. Linear in the number of entries where there is no cycle.
std::vector<CycleLink> find_deadlock(const WaitGraph& graph);

}  // namespace weft
