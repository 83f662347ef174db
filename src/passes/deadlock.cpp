#include "passes/deadlock.h"

#include <algorithm>
#include <deque>

#include "base/error.h"

namespace weft {
namespace {

// How far each list gets: the index of the first entry that never runs.
std::vector<int> run_lists(const WaitGraph& graph) {
  const std::size_t n = graph.needs.size();
  std::vector<int> reached(n, 0);
  std::vector<std::vector<int>> waiting(n);  // by the list that has to get on first
  std::deque<int> ready;
  for (std::size_t i = 0; i < n; ++i) ready.push_back(static_cast<int>(i));
  while (!ready.empty()) {
    const int list = ready.front();
    ready.pop_front();
    const auto& entries = graph.needs[list];
    const int from = reached[list];
    bool blocked = false;
    while (!blocked && reached[list] < static_cast<int>(entries.size())) {
      for (const Place& need : entries[reached[list]]) {
        if (need.index < reached[need.list]) continue;
        if (need.list != list) waiting[need.list].push_back(list);
        blocked = true;
        break;
      }
      if (!blocked) ++reached[list];
    }
    if (reached[list] == from) continue;
    for (int other : waiting[list]) ready.push_back(other);
    waiting[list].clear();
  }
  return reached;
}

// What never runs and needs something that never runs: the links a cycle is made of.
struct Link {
  int index = 0;
  Place need;
};
using Links = std::vector<std::vector<Link>>;  // [list], in order of index

Links collect_links(const WaitGraph& graph, const std::vector<int>& reached) {
  Links links(graph.needs.size());
  for (std::size_t list = 0; list < graph.needs.size(); ++list) {
    const auto& entries = graph.needs[list];
    for (std::size_t i = reached[list]; i < entries.size(); ++i) {
      for (const Place& need : entries[i]) {
        if (need.index < reached[need.list]) continue;
        links[list].push_back({static_cast<int>(i), need});
      }
    }
  }
  return links;
}

// Shortest cycle through link `first` of `list`: an empty one if it is not shorter than `bound`.
// Breadth first; what is visited of a list is a prefix of its links, so a search is linear.
std::vector<CycleLink> cycle_through(const Links& links, int list, int first, std::size_t bound) {
  struct Visit {
    int list, link, parent;
    std::size_t depth;
  };
  std::vector<Visit> visits{{list, first, -1, 1}};
  std::vector<std::size_t> visited(links.size(), 0);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const Visit visit = visits[i];
    if (visit.depth >= bound) return {};
    const Place need = links[visit.list][visit.link].need;
    if (need.list == list && need.index >= links[list][first].index) {
      std::vector<CycleLink> cycle;
      for (int v = static_cast<int>(i); v >= 0; v = visits[v].parent) {
        const Link& link = links[visits[v].list][visits[v].link];
        cycle.push_back({{visits[v].list, link.index}, link.need});
      }
      return {cycle.rbegin(), cycle.rend()};
    }
    const auto& row = links[need.list];
    for (std::size_t& next = visited[need.list]; next < row.size() && row[next].index <= need.index;
         ++next) {
      visits.push_back({need.list, static_cast<int>(next), static_cast<int>(i), visit.depth + 1});
    }
  }
  return {};
}

// Searching from every link is quadratic: from this many on only each list's first, of which some
// lie on a cycle since each waits for one of the others.
constexpr std::size_t kMaxSources = 4000;

}  // namespace

std::vector<CycleLink> find_deadlock(const WaitGraph& graph) {
  const std::vector<int> reached = run_lists(graph);
  const Links links = collect_links(graph, reached);
  std::size_t total = 0;
  for (const auto& row : links) total += row.size();
  std::vector<CycleLink> best;
  std::size_t bound = total + 1;
  for (std::size_t list = 0; list < links.size(); ++list) {
    const std::size_t sources =
        total <= kMaxSources ? links[list].size() : std::min<std::size_t>(1, links[list].size());
    for (std::size_t first = 0; first < sources; ++first) {
      std::vector<CycleLink> cycle =
          cycle_through(links, static_cast<int>(list), static_cast<int>(first), bound);
      if (cycle.empty()) continue;
      bound = cycle.size();
      best = std::move(cycle);
    }
  }
  weft_assert(total == 0 || !best.empty(), "lists that cannot end wait in a cycle");
  return best;
}

}  // namespace weft
