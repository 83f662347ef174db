#include "comm/current_action.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(CurrentAction, IsTheLastOne) {
  set_current_action("dispatch of layer 3");
  set_current_action("combine");
  EXPECT_EQ(current_action(), "combine");
  set_current_action(std::string(1000, 'x'));
  EXPECT_EQ(current_action(), std::string(kMaxActionLength, 'x'));
}

TEST(CurrentAction, StaysWhileAnErrorIsOnItsWay) {
  struct AtEnd {
    ~AtEnd() { set_current_action("between steps"); }
  };
  set_current_action("dispatch");
  try {
    const AtEnd at_end;
    throw std::runtime_error("a peer is gone");
  } catch (const std::exception&) {
  }
  EXPECT_EQ(current_action(), "dispatch");
}

TEST(CurrentAction, MayBeSetByManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 1000; ++n) set_current_action("same");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(current_action(), "same");
}

}  // namespace
}  // namespace weft
