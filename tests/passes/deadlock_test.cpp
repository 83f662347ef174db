#include "passes/deadlock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft {
namespace {

WaitGraph graph_of(const std::vector<int>& sizes) {
  WaitGraph graph;
  for (int size : sizes) graph.needs.emplace_back(size);
  return graph;
}

std::string name(Place p) { return std::string(1, char('a' + p.list)) + std::to_string(p.index); }

// `a0 -> b3 (b1)`: a0 needs b3, which comes after b1.
std::string text_of(const std::vector<CycleLink>& cycle) {
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Place next = cycle[(i + 1) % cycle.size()].place;
    text += (i == 0 ? "" : ", ") + name(cycle[i].place) + " -> " + name(cycle[i].need);
    if (cycle[i].need != next) text += " (" + name(next) + ")";
  }
  return text;
}

TEST(Deadlock, NoneWhereEveryNeedCanBeServed) {
  WaitGraph graph = graph_of({3, 3});
  graph.needs[0][1] = {{1, 0}};
  graph.needs[1][2] = {{0, 1}};
  EXPECT_TRUE(find_deadlock(graph).empty());
}

// The lists get stuck on a ring of three; behind its first place two of them face each other.
TEST(Deadlock, ShowsTheShortestOfSeveralCycles) {
  WaitGraph graph = graph_of({4, 4, 2});
  graph.needs[0][0] = {{1, 3}};
  graph.needs[1][0] = {{2, 1}};
  graph.needs[2][0] = {{0, 3}};
  graph.needs[1][1] = {{0, 1}};
  EXPECT_EQ(text_of(find_deadlock(graph)), "a0 -> b3 (b1), b1 -> a1 (a0)");
}

TEST(Deadlock, AnEntryThatNeedsALaterOneOfItsOwnList) {
  WaitGraph graph = graph_of({3});
  graph.needs[0][1] = {{0, 2}};
  EXPECT_EQ(text_of(find_deadlock(graph)), "a1 -> a2 (a1)");
}

// Needs drawn so that a given order of all entries serves them: there is no cycle. One need against
// that order, on an entry that leads back: there is one.
TEST(Deadlock, RandomOrders) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int lists = 2 + static_cast<int>(random() % 4);
    std::vector<Place> order;
    std::vector<int> sizes(lists, 0);
    for (int i = 0; i < 60; ++i) {
      const int list = static_cast<int>(random() % lists);
      order.push_back({list, sizes[list]++});
    }
    WaitGraph graph = graph_of(sizes);
    for (int i = 1; i < 60; ++i) {
      if (random() % 2 == 0) {
        graph.needs[order[i].list][order[i].index].push_back(order[random() % i]);
      }
    }
    ASSERT_TRUE(find_deadlock(graph).empty());
    const Place last = order.back();
    const Place first{last.list, 0};
    const Place other{(last.list + 1) % lists, 0};
    if (sizes[other.list] == 0 || first == last) continue;
    graph.needs[first.list][0].push_back(other);
    graph.needs[other.list][0].push_back(last);
    EXPECT_FALSE(find_deadlock(graph).empty());
  }
}

}  // namespace
}  // namespace weft
